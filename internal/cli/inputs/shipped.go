package inputs

import (
	"fmt"
	"slices"

	"kpsim/internal/cli"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
)

// NotAll is what --as-shipped can't say. A Never under it carries it.
const NotAll = "these are the faults that we know of, not all that those kernels had"

// OfThoseKnown stands beside a Never of --as-shipped.
const OfThoseKnown = "with the faults that we know of"

// A Shipped is what --as-shipped brings back in an edition, as --json prints it.
type Shipped struct {
	Edition string         `json:"edition"`
	Release string         `json:"release,omitempty"` // that the edition stands for
	Faults  []shippedFault `json:"faults"`
	Known   int            `json:"known"` // faults of the release in the history
	Has     int            `json:"has"`   // of these, how many are brought back
	Not     []notShipped   `json:"not"`   // and how many aren't, by the reason
	Limit   string         `json:"limit"`
}

type notShipped struct {
	Faults int    `json:"faults"`
	Why    string `json:"why"`
}

type shippedFault struct {
	Mutant   string `json:"mutant"`
	Releases string `json:"releases"` // in which the kernel had it
	Says     string `json:"says"`
}

// ShippedAs is what the flags bring back in an edition; nil without --as-shipped.
func (f *Broken) ShippedAs(e rules.Edition) *Shipped {
	if f.Mutant != mutants.AsShipped {
		return nil
	}
	s := &Shipped{Edition: e.String(), Faults: []shippedFault{}, Not: []notShipped{}, Limit: NotAll}
	if e == rules.EditionNone {
		s.Edition = "none"
		return s
	}
	for _, name := range mutants.ShippedIn(e) {
		mu, _ := mutants.ByName(name)
		s.Faults = append(s.Faults, shippedFault{name, mutants.Releases(name), mu.Says})
	}
	if t, ok := mutants.TallyOf(e); ok {
		s.Release, s.Known, s.Has = t.Release.String(), t.Known, t.Back
		for _, m := range t.Not {
			s.Not = append(s.Not, notShipped(m))
		}
	}
	return s
}

// TellShipped prints what --as-shipped brings back in an edition, once for each.
func TellShipped(p *cli.Program, s *Shipped) {
	if s == nil || slices.Contains(p.Shipped, s.Edition) {
		return
	}
	p.Shipped = append(p.Shipped, s.Edition)
	if len(s.Faults) == 0 {
		p.Indented("", fmt.Sprintf("--as-shipped, edition %s: no fault is known that its kernels had", s.Edition))
		return
	}
	p.Indented("", fmt.Sprintf("--as-shipped, edition %s, brings back %s of its kernels:", s.Edition,
		cli.Number(len(s.Faults), "fault")))
	name, releases := 0, 0
	for _, f := range s.Faults {
		name, releases = max(name, len(f.Mutant)), max(releases, len(f.Releases))
	}
	for _, f := range s.Faults {
		p.Indented(cli.Indent, fmt.Sprintf("%-*s  %-*s  %s", name, f.Mutant, releases, f.Releases, f.Says))
	}
	p.Indented("", fmt.Sprintf("the history (kpsim list history) knows %s of %s: %d are brought back, %d aren't:",
		cli.Number(s.Known, "fault"), s.Release, s.Has, s.Known-s.Has))
	for _, n := range s.Not {
		p.Indented(cli.Indent, fmt.Sprintf("%3d  %s", n.Faults, n.Why))
	}
	p.Indented("", NotAll)
}

// Never is what is said where nothing was broken.
func (f *Broken) Never() string {
	if f.Mutant == mutants.AsShipped {
		return Never + ", " + OfThoseKnown
	}
	return Never
}
