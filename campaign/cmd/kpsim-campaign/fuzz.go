package main

import (
	"kpsim/campaign/build"
	"kpsim/campaign/desk"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

type fuzzCmd struct {
	findings.Fuzz `embed:""`
	single
	Islands uint64 `range:"1..65536" default:"16" placeholder:"N" help:"Into how many parts each round is divided: so many cores can be kept busy, of all processes together. What is found depends on it. Default: 16."`
	Size    uint64 `range:"1..4096" default:"64" placeholder:"N" help:"How many programs a part has: a round is --islands times so many. More is cheaper to hand out, and is guided less. What is found depends on it. Default: 64."`
}

// Help implements kong.HelpProvider.
func (*fuzzCmd) Help() string {
	return `A round is planned from what all rounds but the last one have shown, so that what is found depends on the flags alone, and nobody waits. A round more costs each process some time: with more than some hundred cores most of it goes there.

Examples:

  kpsim-campaign fuzz --programs 100000
  kpsim-campaign fuzz --programs 100000 --islands 64 --size 32     # for 64 cores
  kpsim-campaign fuzz --programs 20000 --workers 2
  kpsim-campaign fuzz --programs 20000 --kernel vmlinuz`
}

func (c *fuzzCmd) Run(p *cli.Program) (int, error) {
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
	s, err := plan.OfFuzz(&c.Fuzz, c.Islands, c.Size)
	if err != nil {
		return 0, err
	}
	made := &plan.Campaign{Name: c.Name, Build: digest, Searches: []*plan.Search{s}}
	return c.all(ctx, p, made, c.Workers, c.JSON, false)
}
