package main

import (
	"errors"

	"kpsim/campaign/build"
	"kpsim/campaign/desk"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

type fuzzCmd struct {
	findings.Fuzz `embed:""`
	singleFlags
	Islands uint64 `range:"1..65536" default:"16" placeholder:"N" help:"The number of parts that each round is divided into: the most cores that can be busy, of all processes together. The finds depend on it. Default: 16."`
	Size    uint64 `range:"1..4096" default:"64" placeholder:"N" help:"The number of programs in a part; a round has --islands times as many. Larger parts are cheaper to hand out, but guided less. The finds depend on it. Default: 64."`
}

// Help implements kong.HelpProvider.
func (*fuzzCmd) Help() string {
	return `A round is planned from the results of all rounds but the last one, so the finds depend on the flags alone, and no core waits. Each further round costs each process some time: beyond some hundred cores most of the time goes there.

Examples:

  kpsim-campaign fuzz --programs 100000
  kpsim-campaign fuzz --programs 100000 --islands 64 --size 32     # for 64 cores
  kpsim-campaign fuzz --programs 20000 --workers 2
  kpsim-campaign fuzz --programs 20000 --kernel vmlinuz`
}

func (c *fuzzCmd) Run(p *cli.Program) (int, error) {
	if c.Formats() != "" {
		return 0, errors.New("--format: it is of kpsim fuzz; " + noFormat)
	}
	ctx, stop := interruptible(p)
	defer stop()
	if c.Programs == 0 && c.Runs == 0 && c.UntilCovered == 0 {
		c.Programs = 20_000
	}
	if err := desk.CheckName(c.Name); err != nil {
		return 0, err
	}
	digest, err := build.Digest()
	if err != nil {
		return 0, err
	}
	s, err := plan.Fuzz(&c.Fuzz, c.Islands, c.Size)
	if err != nil {
		return 0, err
	}
	made := &plan.Campaign{Name: c.Name, Build: digest, Searches: []*plan.Search{s}}
	return c.runAll(ctx, p, made, c.Workers, c.JSON, false)
}
