package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/cli"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
)

// An outcome is what all units of a campaign have shown.
type outcome struct {
	files []*results.File // of each search
	aside []string        // units that were set aside, and why
}

// collect reads what all units of a campaign have shown.
func collect(ctx context.Context, b *board.Board, c *plan.Campaign) (*outcome, error) {
	o := &outcome{}
	for _, s := range c.Searches {
		o.files = append(o.files, s.File())
	}
	err := b.Results(ctx, c.ID, func(d *board.Done) error {
		u := &d.Unit
		if u.Search >= 0 && u.Search < len(c.Searches) && (c.Searches[u.Search].Fuzz != nil || c.Searches[u.Search].Verify != nil) {
			return nil // they are read in their order
		}
		if u.Search < 0 || u.Search >= len(c.Searches) || u.Job < 0 || u.Job >= len(c.Searches[u.Search].Scenarios) {
			return fmt.Errorf("unit %s is none of the campaign's", u.Key())
		}
		e := o.files[u.Search].Scenarios[u.Job]
		if d.Summary.Aside != "" {
			o.aside = append(o.aside, u.Key()+": "+d.Summary.Aside)
			if u.Kind == plan.Runs {
				for i := u.From; i < u.To; i++ {
					var none explore.Part
					none.Begin(i)
					none.End()
					e.Parts = append(e.Parts, none)
				}
			}
			return nil
		}
		switch u.Kind {
		case plan.Runs:
			var parts []explore.Part
			if err := json.Unmarshal(d.Data, &parts); err != nil {
				return fmt.Errorf("unit %s: %w", u.Key(), err)
			}
			e.Parts = append(e.Parts, parts...)
			e.Seconds += d.Took.Seconds()
		case plan.Canary:
			e.Canary = e.Canary || d.Summary.Found
		}
		return nil
	})
	return o, err
}

// Report prints of a campaign that has ended what kpsim would have printed, had it made all runs
// by itself, and writes the witnesses to a folder; "" is where each search says. Of several
// searches each has its command above it.
func Report(ctx context.Context, p *cli.Program, b *board.Board, c *plan.Campaign, traces string, asJSON bool) (int, error) {
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
		if s.Fuzz != nil || s.Verify != nil {
			report := reportFuzz
			if s.Verify != nil {
				report = reportProofs
			}
			status, err := report(ctx, p, b, c, i)
			if err != nil {
				return 0, err
			}
			worst = worse(worst, status)
			continue
		}
		status, err := s.Flags.Report(p, o.files[i], cli.Line("kpsim-campaign", "results", c.ID))
		if err != nil {
			return 0, err
		}
		worst = worse(worst, status)
	}
	troubles, err := b.AllTroubles(ctx, c.ID)
	if err != nil {
		return 0, err
	}
	for _, t := range troubles {
		if t.Differ {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s\n", t.Why)
			worst = cli.Bug
		}
	}
	if len(o.aside) > 0 {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s set aside, so the report is without their runs:\n  %s\n", cli.Number(len(o.aside), "unit"), strings.Join(o.aside, "\n  "))
		worst = cli.Bug
	}
	return worst, nil
}

// worse returns the exit status that counts of two.
func worse(a, b int) int {
	for _, s := range []int{cli.Bug, cli.Interrupted, cli.Against, cli.BadInput} {
		if a == s || b == s {
			return s
		}
	}
	return cli.OK
}
