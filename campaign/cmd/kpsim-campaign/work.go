package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/build"
	"kpsim/campaign/hub"
	"kpsim/campaign/work"
	"kpsim/internal/ui/cli"
)

type workCmd struct {
	hub.Where `embed:""`
	Cores     int           `range:"0..1024" placeholder:"N" help:"How many units this process makes at once, each on a core of its own. 0 (the default): one per processor. 1 leaves the other processors to other programs. No report depends on it."`
	Kernels   bool          `default:"true" negatable:"" help:"Fetch kernels and run their code; --no-kernels leaves their units to others."`
	Cache     string        `placeholder:"DIR" help:"Where kernels are kept."`
	Longest   time.Duration `range:"1s..8760h" default:"12h" placeholder:"TIME" help:"How long a unit may take, such as 90m or 24h; after that it counts as failed, and another worker tries. Default: 12h."`
	Idle      time.Duration `range:"0s..8760h" placeholder:"TIME" help:"End after being idle for this long, such as 10m. 0s (the default): never."`
}

// Help implements kong.HelpProvider.
func (*workCmd) Help() string {
	return `A worker takes units of its own build only. It may come and go, and be killed: another worker makes its unfinished units when the lease ends.

Examples:

  kpsim-campaign work
  kpsim-campaign work --cores 4 --idle 10m
  kpsim-campaign work --longest 24h --no-kernels
  kpsim-campaign work --nats tls://head.example:4222 --nkey worker.nk`
}

func (c *workCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	if c.Dir == "" {
		c.Dir = defaultDir()
	}
	o, err := workerOptions(c.Cores, c.Cache)
	if err != nil {
		return 0, err
	}
	o.Kernels, o.Idle, o.Longest = c.Kernels, c.Idle, c.Longest
	nc, err := reach(ctx, p, &c.Where, c.Idle)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	fmt.Fprintf(p.Err, "kpsim-campaign: %s works at %s, build %s\n", o.Name, nc.ConnectedUrlRedacted(), o.Build)
	p.Flush()
	cli.ManySmall()
	err = work.New(nc, o).Run(ctx)
	nc.FlushTimeout(time.Second)
	return cli.OK, err
}

// reach connects a worker. It waits for a server that isn't running yet, for at most limit if that isn't 0.
func reach(ctx context.Context, p *cli.Program, w *hub.Where, limit time.Duration) (*nats.Conn, error) {
	began := time.Now()
	for reported := false; ; {
		nc, err := w.Connect(hub.Worker)
		if err == nil || !hub.MayRecover(err) || limit > 0 && time.Since(began) > limit {
			return nc, err
		}
		if !reported {
			reported = true
			fmt.Fprintf(p.Err, "kpsim-campaign: %v\nkpsim-campaign: waiting for it\n", err)
			p.Flush()
		}
		select {
		case <-ctx.Done():
			return nil, errInterrupted
		case <-time.After(time.Second):
		}
	}
}

// workerOptions returns the options of a worker, with the name and the build of this process.
func workerOptions(cores int, cache string) (o work.Options, err error) {
	if o.Build, err = build.Digest(); err != nil {
		return o, err
	}
	if o.Cores = cores; cores == 0 {
		o.Cores = runtime.GOMAXPROCS(0)
	}
	if o.Dir = cache; cache == "" {
		o.Dir = defaultDir()
	}
	host, _ := os.Hostname()
	o.Name = fmt.Sprintf("%s.%d", host, os.Getpid())
	o.Kernels = true
	return o, nil
}
