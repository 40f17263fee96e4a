package main

import (
	"fmt"
	"slices"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/kprobes/mutants"
)

// notAll is what --as-shipped can't say. A Never under it carries it.
const notAll = "these are the faults that we know of, not all that those kernels had"

// ofThoseKnown stands beside a Never of --as-shipped.
const ofThoseKnown = "with the faults that we know of"

// A shipped is what --as-shipped brings back in an edition, as --json prints it.
type shipped struct {
	Edition string         `json:"edition"`
	Faults  []shippedFault `json:"faults"`
	Limit   string         `json:"limit"`
}

type shippedFault struct {
	Mutant   string `json:"mutant"`
	Releases string `json:"releases"` // in which the kernel had it
	Says     string `json:"says"`
}

// shippedAs is what the flags bring back in an edition; nil without --as-shipped.
func (f *brokenFlags) shippedAs(e scenario.Edition) *shipped {
	if f.Mutant != mutants.AsShipped {
		return nil
	}
	s := &shipped{Edition: e.String(), Faults: []shippedFault{}, Limit: notAll}
	if e == scenario.EditionNone {
		s.Edition = "none"
		return s
	}
	for _, name := range mutants.ShippedIn(e.Document()) {
		mu, _ := mutants.ByName(name)
		s.Faults = append(s.Faults, shippedFault{name, mutants.Releases(name), mu.Says})
	}
	return s
}

// tellShipped prints what --as-shipped brings back in an edition, once for each.
func tellShipped(p *cli.Program, s *shipped) {
	if s == nil || slices.Contains(p.Shipped, s.Edition) {
		return
	}
	p.Shipped = append(p.Shipped, s.Edition)
	if len(s.Faults) == 0 {
		p.Indented("", fmt.Sprintf("--as-shipped, edition %s: no fault is known that its kernels had", s.Edition))
		return
	}
	p.Indented("", fmt.Sprintf("--as-shipped, edition %s, brings back %s of its kernels:", s.Edition, cli.Number(len(s.Faults), "fault")))
	name, releases := 0, 0
	for _, f := range s.Faults {
		name, releases = max(name, len(f.Mutant)), max(releases, len(f.Releases))
	}
	for _, f := range s.Faults {
		p.Indented(cli.Indent, fmt.Sprintf("%-*s  %-*s  %s", name, f.Mutant, releases, f.Releases, f.Says))
	}
	p.Indented("", notAll)
}

// never is what is said where nothing was broken.
func (f *brokenFlags) never() string {
	if f.Mutant == mutants.AsShipped {
		return never + ", " + ofThoseKnown
	}
	return never
}
