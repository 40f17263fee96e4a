package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/campaign/work"
	"kpsim/internal/ui/cli"
)

// singleFlags has the flags of a campaign that runs in one process.
type singleFlags struct {
	serving
	Name string `default:"campaign" placeholder:"NAME" help:"Campaigns of one name are compared."`
	Dir  string `placeholder:"DIR" help:"The folder of the server. Default: ${folder}."`
	HTTP string `name:"http" placeholder:"HOST:PORT" help:"Serve a page of the progress."`
	Keep bool   `help:"Keep the units' results, for kpsim-campaign results."`
}

type runCmd struct {
	campaignFlags
	singleFlags
}

// Help implements kong.HelpProvider.
func (*runCmd) Help() string {
	return `While it runs, other processes on this computer help with: kpsim-campaign work

Examples:

  kpsim-campaign run
  kpsim-campaign run second-instruction torn-jump
  kpsim-campaign run --workers 1 torn-jump     # leaves the other processors free
  kpsim-campaign run --nightly --name tour
  kpsim-campaign run --kernel vmlinuz --runs 100000`
}

func (c *runCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	made, err := c.plan(p, c.Name)
	if err != nil {
		return 0, err
	}
	return c.runAll(ctx, p, made, c.Workers, c.JSON, c.Nightly)
}

// runAll runs a campaign in this process: a server, a coordinator, workers, the report.
func (c *singleFlags) runAll(ctx context.Context, p *cli.Program, made *plan.Campaign, cores int, asJSON,
	nightly bool) (int, error) {
	if c.Dir == "" {
		c.Dir = defaultDir()
	}
	h, unlock, err := startHub(c.options(c.Dir))
	if err != nil {
		return 0, err
	}
	defer unlock()
	defer h.Stop()
	nc, err := h.Connect(hub.Lead)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	b, err := makeBoard(ctx, nc, c.Replicas)
	if err != nil {
		return 0, err
	}
	serving, err := gate.Serve(ctx, b)
	if err != nil {
		return 0, err
	}
	defer serving.Stop()
	asks, err := h.Connect(hub.Client)
	if err != nil {
		return 0, err
	}
	defer asks.Close()
	makes, err := h.Connect(hub.Worker)
	if err != nil {
		return 0, err
	}
	defer makes.Close()
	client := gate.Client{Conn: asks}
	web, err := c.page(p, b, c.HTTP)
	if err != nil {
		return 0, err
	}
	defer web()
	o, err := workerOptions(cores, c.Dir)
	if err != nil {
		return 0, err
	}
	quiet := lead.New(b, lead.Options{Name: o.Name, Lease: c.Lease, Dir: c.Dir, Tick: 20 * time.Millisecond})
	within, end := context.WithCancel(ctx)
	defer end()
	go func() { _ = quiet.Run(within) }()
	s, err := desk.Start(ctx, client, made)
	if err != nil {
		return 0, err
	}
	cli.ManySmall()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = work.New(makes, o).Run(within) }()
	status, err := finish(ctx, p, client, made, "", asJSON, nightly)
	if errors.Is(err, errInterrupted) {
		_, _ = b.Change(context.Background(), s.ID, func(s *board.State) bool { s.State = board.Cancelled; return true })
		fmt.Fprintf(p.Err, "kpsim-campaign: interrupted; %s is cancelled\n", s.ID)
	}
	end()
	<-ended
	if !c.Keep {
		short, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Forget(short, s.ID); err != nil {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s isn't forgotten: %v\n", s.ID, err)
		}
	}
	return status, err
}
