package pages

import (
	"fmt"
	"path/filepath"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/page"
	"kpsim/smp/cycles"
)

// provenance says where each cost is from, and what was fitted.
func (o *htmlPage) provenance() (page.Section, error) {
	if o.u != nil {
		return o.profileCosts(), nil
	}
	s := page.Section{ID: "provenance", Title: "Where the costs are from", Blocks: []page.Block{page.List{
		"fitted: to the documents' figures.",
		"typical: of such processors, by the literature; not measured on this one, and two in three may be " +
			"off by 40 %.",
		"counted: in runs, or in code.",
		"assumed: of what was counted over a whole hit the share of one event; and what no figure has.",
	}}}
	t := o.r.tiers[0] // calibrated has all that the other has
	for _, rows := range o.machines() {
		for _, m := range o.o.Machines() {
			if m.ID() != rows[0][0].Machine {
				continue
			}
			g, _ := provenanceOf(o.o, m, t, true)
			s.Blocks = append(s.Blocks, &page.Details{
				Summary: page.Text(fmt.Sprintf("Costs of %s %s", m.Name, m.Arch)),
				Blocks: []page.Block{g.Page(page.Text(fmt.Sprintf("What each event costs on %s, %s: cycles of %g MHz.",
					m.ID(), t, m.MHz)))},
			})
		}
	}
	parts, err := fitParts(o.o)
	if err != nil {
		return s, err
	}
	fit := &page.Details{Summary: "The numbers that are fitted, what they leave, and which figures can't be " +
		"right together"}
	for _, part := range parts {
		fit.Blocks = append(fit.Blocks, part.grid.Page(page.Text(part.title)))
	}
	s.Blocks = append(s.Blocks, fit)
	return s, nil
}

// profileCosts lists the costs of a profile.
func (o *htmlPage) profileCosts() page.Section {
	g := profileColumns.Grid(profileCosts(o.u, cycles.All()))
	return page.Section{ID: "provenance", Title: "Where the costs are from", Blocks: []page.Block{
		page.Text(fmt.Sprintf("All of them are from %s, whose comments say where each one is from.",
			filepath.Base(o.r.source))),
		&page.Details{Summary: "The costs", Blocks: []page.Block{g.Page("Cycles of each event, and the profile's " +
			"comment.")}},
	}}
}

// limits says what is assumed, and what isn't there.
func (o *htmlPage) limits() (page.Section, error) {
	list := page.List{
		"Hits are those of tight loops with warm caches, as the documents' were. What noise adds is assumed in " +
			"all its magnitudes.",
		page.Text(overhead.Unfigured(o.u, cycles.Line) + " Each lock, list and counter is taken to have a line of " +
			"its own. Beyond that a cost is the same whatever the caches hold."),
		"ppc64's events are those of its own engine, of ppc64le; its kernel's instructions are put at x86_64's.",
		"The figures of Pentium M, Opteron and POWER5 are of a kernel of 2005 with one lock for all probes, " +
			"held across a hit. The engine's oldest edition is younger; that lock is in the price of a step " +
			"and of a trampoline's hit.",
		"How many instructions of kernel code an event takes was counted in that code as it is written again " +
			"in C: 15 to 20 % may be wrong with it.",
		page.Text(fmt.Sprintf("The cost of a node of a chain is assumed: %g cycles in the first cache, %g in "+
			"the second, %g in memory.", overhead.NominalCache.L1Cycles, overhead.NominalCache.L2Cycles,
			overhead.NominalCache.MemoryCycles)),
		"In pauses there is neither what the timer of delayed work takes until it fires, nor what a kernel " +
			"waits between two looks for the end of a grace period.",
	}
	if o.u != nil {
		list = append(list[:2], list[4:]...)
	}
	return page.Section{ID: "limits", Title: "What is assumed, and the limits", Blocks: []page.Block{list}}, nil
}
