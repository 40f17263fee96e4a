package inputs

import (
	"fmt"
	"slices"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
)

// NotAll is the caveat of --as-shipped. A Never under it carries it.
const NotAll = "these are the faults that we know of, not all that those kernels had"

// OfThoseKnown follows a Never of --as-shipped.
const OfThoseKnown = "with the faults that we know of"

// A Shipped lists the faults that --as-shipped restores in an edition, as printed by --json.
type Shipped struct {
	Edition string         `json:"edition"`
	Release string         `json:"release,omitempty"` // the release that the edition models
	Faults  []shippedFault `json:"faults"`
	Known   int            `json:"known"` // faults of the release in the history
	Has     int            `json:"has"`   // of these, the number restored
	Not     []notShipped   `json:"not"`   // the others, by reason
	Limit   string         `json:"limit"`
}

type notShipped struct {
	Faults int    `json:"faults"`
	Why    string `json:"why"`
}

type shippedFault struct {
	Mutant   string `json:"mutant"`
	Releases string `json:"releases"` // releases of the kernel that had it
	Says     string `json:"says"`
}

// ShippedAs returns the faults that the flags restore in an edition; nil without --as-shipped.
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
		s.Release, s.Known, s.Has = t.Release.String(), t.Known, t.BroughtBack
		for _, m := range t.Missing {
			s.Not = append(s.Not, notShipped(m))
		}
	}
	return s
}

// TellShipped prints the faults that --as-shipped restores, once for each edition.
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

// Never is printed where nothing was broken.
func (f *Broken) Never() string {
	if f.Mutant == mutants.AsShipped {
		return Never + ", " + OfThoseKnown
	}
	return Never
}
