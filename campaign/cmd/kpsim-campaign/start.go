package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/build"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// campaignFlags has the flags that say what a campaign does.
type campaignFlags struct {
	findings.Explore `embed:""`
	Priority         int  `range:"-100..100" default:"0" help:"Campaigns of higher priority go first: units of lower priority are handed out only when those have none left. Default: 0."`
	Nightly          bool `help:"Report at the end what is new, gone or slower since the previous campaign of that name."`
}

// noFormat is why a campaign has no --format.
const noFormat = "a campaign's report is text, or --json"

// plan makes a campaign of the flags.
func (w *campaignFlags) plan(p *cli.Program, name string) (*plan.Campaign, error) {
	const divides = "a campaign divides its runs by itself, and compares units that are made twice"
	for _, f := range []struct {
		name  string
		given bool
		why   string
	}{
		{"--shard", w.Shard != "", divides},
		{"--out", w.Out != "", divides},
		{"--self-check", w.SelfCheck != 0, divides},
		{"--format", w.Formats() != "", noFormat},
		{"--small", w.Small != nil, "a campaign searches scenarios only; run kpsim small beside it"},
		{"--drawn", w.Drawn != nil, "a campaign searches scenarios only; run kpsim-campaign fuzz beside it"},
	} {
		if f.given {
			return nil, fmt.Errorf("%s: it is of kpsim explore; %s", f.name, f.why)
		}
	}
	if err := desk.CheckName(name); err != nil {
		return nil, err
	}
	digest, err := build.Digest()
	if err != nil {
		return nil, err
	}
	c := &plan.Campaign{Name: name, Build: digest, Priority: w.Priority}
	if file, ok := plan.IsFile(w.Scenarios); ok {
		return c, plan.Load(p, c, file)
	}
	s, err := plan.Explore(p, &w.Explore)
	if err != nil {
		return nil, err
	}
	c.Searches = []*plan.Search{s}
	return c, nil
}

type startCmd struct {
	campaignFlags
	Name      string `default:"campaign" placeholder:"NAME" help:"Campaigns of one name are compared."`
	hub.Where `embed:""`
	Wait      bool `help:"Wait for its end, and print the report."`
}

// Help implements kong.HelpProvider.
func (*startCmd) Help() string {
	return `What is explored is given by the flags of kpsim explore, or by a file that calls campaign(…): see docs/campaigns.md.

Examples:

  kpsim-campaign start --runs 100000000 safe-none
  kpsim-campaign start --kernel vmlinuz --strategy random --runs 10000000
  kpsim-campaign start --priority 10 --runs 1000000 torn-jump
  kpsim-campaign start --wait --nightly --name nightly nightly.star`
}

func (c *startCmd) Run(p *cli.Program) (int, error) {
	if c.Workers != 0 {
		return 0, errors.New("--workers: start makes no units; give it to a worker: kpsim-campaign work --cores N")
	}
	ctx, stop := interruptible(p)
	defer stop()
	made, err := c.plan(p, c.Name)
	if err != nil {
		return 0, err
	}
	b, done, err := join(ctx, &c.Where)
	if err != nil {
		return 0, err
	}
	defer done()
	s, err := desk.Start(ctx, b, made)
	if err != nil {
		return 0, err
	}
	if !c.Wait {
		fmt.Fprintln(p.Out, s.ID)
		return cli.OK, nil
	}
	fmt.Fprintf(p.Err, "kpsim-campaign: %s began\n", s.ID)
	return finish(ctx, p, b, made, "", c.JSON, c.Nightly)
}

// join connects a client.
func join(ctx context.Context, w *hub.Where) (b gate.Client, done func(), err error) {
	if w.Dir == "" {
		w.Dir = defaultDir()
	}
	nc, err := w.Connect(hub.Client)
	if err != nil {
		return b, nil, err
	}
	if b, err = joinClient(ctx, nc); err != nil {
		nc.Close()
		return b, nil, err
	}
	return b, nc.Close, nil
}

// joinClient connects a client, and waits up to 30 s for a coordinator.
func joinClient(ctx context.Context, nc *nats.Conn) (gate.Client, error) {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c := gate.Client{Conn: nc}
	err := c.Ready(wait)
	if errors.Is(err, board.ErrRefused) {
		return c, fmt.Errorf("%s: %w", nc.ConnectedUrlRedacted(), err)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w; does kpsim-campaign serve run there?", nc.ConnectedUrlRedacted(), err)
	}
	return c, nil
}

// finish waits for a campaign's end and reports it.
func finish(ctx context.Context, p *cli.Program, b gate.Client, c *plan.Campaign, traces string, asJSON,
	nightly bool) (int, error) {
	s, err := wait(ctx, p, b, c.ID)
	if err != nil {
		return 0, err
	}
	if s.State == board.Cancelled {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s was cancelled\n", c.ID)
		return cli.Interrupted, nil
	}
	status, err := desk.Report(ctx, p, b, c, traces, asJSON)
	if err != nil || !nightly {
		return status, err
	}
	return status, printComparison(ctx, p, b, s, asJSON)
}

// printComparison prints how a campaign's results differ from those of the previous one.
func printComparison(ctx context.Context, p *cli.Program, b gate.Client, s *board.State, asJSON bool) error {
	if s.Previous == "" {
		if !asJSON {
			fmt.Fprintf(p.Out, "\n%s is the first of its name: there is nothing to compare it with\n", s.ID)
		}
		return nil
	}
	before, err := b.State(ctx, s.Previous)
	if err != nil {
		return err
	}
	list := desk.Compare(before, s)
	if asJSON {
		return p.PrintJSON(struct {
			Campaign string        `json:"campaign"`
			Against  string        `json:"against"`
			Changes  []desk.Change `json:"changes"`
		}{s.ID, before.ID, list})
	}
	desk.PrintChanges(p, before, s, list)
	return nil
}

// wait waits for a campaign's end, and shows its progress.
func wait(ctx context.Context, p *cli.Program, b gate.Client, id string) (*board.State, error) {
	var line *cli.Progress // counts the units that were planned in the first status
	defer func() { line.Clear() }()
	last := time.Time{}
	for {
		s, err := b.State(ctx, id)
		if err == nil && !s.Open() && s.State != board.Starting {
			if s.State != board.Cancelled {
				line.Complete()
			}
			return s, nil
		}
		if errors.Is(err, board.ErrNone) || errors.Is(err, board.ErrDamaged) {
			return nil, err
		}
		if time.Since(last) > 400*time.Millisecond {
			last = time.Now()
			if t, err := b.LatestStatus(ctx, id); err == nil {
				if line == nil && t.Units > 0 {
					line = p.Watch(id, uint64(t.Units), "unit")
				}
				line.At(uint64(t.Done), progressSuffix(t))
			}
		}
		select {
		case <-ctx.Done():
			return nil, errInterrupted
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// progressSuffix is the part of the progress line after the units.
func progressSuffix(t *board.Status) string {
	finds := ""
	if len(t.Finds) > 0 {
		finds = ", " + cli.Number(len(t.Finds), "cause") + " found"
	}
	return fmt.Sprintf("%s, %.0f runs/s on %s%s", cli.Number(t.Runs, "run"), t.Rate, cli.Number(t.Cores, "core"), finds)
}

// oneLine sums up a campaign's progress.
func oneLine(t *board.Status) string {
	left := ""
	if t.SecondsLeft > 0 {
		left = fmt.Sprintf("%v left: ", (time.Duration(t.SecondsLeft) * time.Second).Round(time.Second))
	}
	finds := ""
	if len(t.Finds) > 0 {
		finds = ", " + cli.Number(len(t.Finds), "cause") + " found"
	}
	return fmt.Sprintf("%s: %s%d of %d units, %d of %d runs, %.0f runs/s on %s%s",
		t.ID, left, t.Done, t.Units, t.Runs, t.RunsPlanned, t.Rate, cli.Number(t.Cores, "core"), finds)
}
