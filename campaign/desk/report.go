package desk

import (
	"context"
	"fmt"
	"strings"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
	"kpsim/internal/ui/cli"
)

// An outcome holds the results of all units of a campaign.
type outcome struct {
	parts    map[[2]int][]unitParts // by search and scenario
	canary   map[[2]int]bool
	seconds  map[[2]int]float64
	setAside []string // units without a result, and why
	skipped  int      // results that belong to no unit of the plan
}

// An unitParts is the result of a unit of runs.
type unitParts struct {
	u     plan.Unit
	parts []explore.Part
}

// emptyParts returns the parts of a unit without a result, all empty.
func emptyParts(u *plan.Unit) (parts []explore.Part) {
	for i := u.From; i < u.To; i++ {
		var p explore.Part
		p.Begin(i)
		p.End()
		parts = append(parts, p)
	}
	return parts
}

// collect reads the results of all units of a campaign. Results that belong to no unit of the plan are counted and
// skipped; a unit whose result can't be right is reported without its runs.
func collect(ctx context.Context, b gate.Client, c *plan.Campaign) (*outcome, error) {
	o := &outcome{parts: make(map[[2]int][]unitParts), canary: make(map[[2]int]bool), seconds: make(map[[2]int]float64)}
	err := b.Results(ctx, c.ID, func(r *gate.Result, key string, bad error) error {
		u := &r.Unit
		if u.Key() != key || u.Campaign != c.ID || !c.Has(u) {
			o.skipped++
			return nil
		}
		if s := c.Searches[u.Search]; s.Fuzz != nil || s.Verify != nil {
			return nil // they are read in their order, later
		}
		of := [2]int{u.Search, u.Job}
		switch {
		case r.AsideReason != "":
			o.setUnitAside(u, r.AsideReason)
		case bad != nil:
			o.setUnitAside(u, bad.Error())
		case u.Kind == plan.Runs:
			parts, err := unit.Parts(u, r.Data)
			if err != nil {
				o.setUnitAside(u, err.Error())
				return nil
			}
			o.parts[of] = append(o.parts[of], unitParts{*u, parts})
			o.seconds[of] += r.Took.Seconds()
		case u.Kind == plan.Canary:
			s, err := unit.Check(u, r.Data)
			if err != nil {
				o.setUnitAside(u, err.Error())
				return nil
			}
			o.canary[of] = o.canary[of] || s.Found
		}
		return nil
	})
	return o, err
}

// setUnitAside records that a unit has no result.
func (o *outcome) setUnitAside(u *plan.Unit, why string) {
	o.setAside = append(o.setAside, u.Key()+": "+plan.Clean(why, board.MostWhy, false))
	if of := [2]int{u.Search, u.Job}; u.Kind == plan.Runs {
		o.parts[of] = append(o.parts[of], unitParts{*u, emptyParts(u)})
	}
}

// file is a search with its results. Parts that this program wouldn't make are left out.
func (o *outcome) file(s *plan.Search, search int) (*results.File, error) {
	if _, err := s.Flags.Kernel.Open(); err != nil {
		return nil, err
	}
	f := s.File()
	for job, e := range f.Scenarios {
		of := [2]int{search, job}
		spec, err := s.Spec(job)
		if err != nil {
			return nil, err
		}
		e.Canary, e.Seconds = o.canary[of], o.seconds[of]
		for _, one := range o.parts[of] {
			if err := s.CheckParts(&spec, job, one.parts); err != nil {
				o.setAside = append(o.setAside,
					one.u.Key()+": its result is false: "+plan.Clean(err.Error(), board.MostWhy,
						false))
				one.parts = emptyParts(&one.u)
			}
			e.Parts = append(e.Parts, one.parts...)
		}
	}
	return f, nil
}

// Report prints the report that kpsim would print if it had made all runs of an ended campaign by itself. It writes
// the witnesses to the folder traces; "" means the folder that each search names. With several searches, each report
// follows its command.
func Report(ctx context.Context, p *cli.Program, b gate.Client, c *plan.Campaign, traces string,
	asJSON bool) (int, error) {
	o, err := collect(ctx, b, c)
	if err != nil {
		return 0, err
	}
	worst := cli.OK
	for i, s := range c.Searches {
		if len(c.Searches) > 1 && !asJSON {
			if i > 0 {
				fmt.Fprintln(p.Out)
			}
			fmt.Fprintf(p.Out, "$ %s\n", cli.Line(s.Words()...))
		}
		if traces != "" {
			s.Flags.Traces = traces
		}
		s.Flags.JSON = asJSON
		status, err := o.report(ctx, p, b, c, i)
		if err != nil {
			return 0, err
		}
		worst = worse(worst, status)
	}
	differ, err := b.Differing(ctx, c.ID)
	if err != nil {
		return 0, err
	}
	for _, t := range differ {
		if c.Has(&t.Unit) {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s\n", t.Why)
			worst = cli.Bug
		}
	}
	if o.skipped > 0 {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s skipped: no unit of the plan has that name\n",
			cli.Number(o.skipped, "result"))
	}
	if len(o.setAside) > 0 {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s set aside, so the report is without their runs:\n  %s\n",
			cli.Number(len(o.setAside), "unit"), strings.Join(o.setAside, "\n  "))
		worst = cli.Bug
	}
	return worst, nil
}

// report prints the report of a search.
func (o *outcome) report(ctx context.Context, p *cli.Program, b gate.Client, c *plan.Campaign,
	search int) (int, error) {
	s := c.Searches[search]
	switch {
	case s.Fuzz != nil:
		return reportFuzz(ctx, p, b, c, search)
	case s.Verify != nil:
		return reportProofs(ctx, p, b, c, search)
	}
	f, err := o.file(s, search)
	if err != nil {
		return 0, err
	}
	return s.Flags.Report(p, f, cli.Line("kpsim-campaign", "results", c.ID))
}

// worse returns which of two exit statuses takes precedence.
func worse(a, b int) int {
	for _, s := range []int{cli.Bug, cli.Interrupted, cli.Against, cli.BadInput} {
		if a == s || b == s {
			return s
		}
	}
	return cli.OK
}
