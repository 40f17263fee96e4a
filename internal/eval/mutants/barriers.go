package mutants

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/mutantsearch"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// weakModels are the models of memory under which barriers are left out.
var weakModels = []smp.Ordering{smp.TSO, smp.LKMM}

// A barrierRow is what is printed of a barrier.
type barrierRow struct {
	Mutant  string                `json:"mutant"`
	Barrier string                `json:"barrier"`
	Order   string                `json:"order"`
	Source  string                `json:"source"`
	Under   map[string]barrierRun `json:"under"` // by the model's name
}

// A barrierRun is what came of leaving it out, under one model.
type barrierRun struct {
	Scenario string `json:"scenario,omitempty"` // where it was noticed first; "": nowhere
	Property string `json:"property,omitempty"`
	After    uint64 `json:"after,omitempty"` // by which schedule
	Searched int    `json:"searched"`        // scenarios
	Met      int    `json:"met"`             // scenarios that come to it
	Reason   string `json:"reason,omitempty"`
}

// runBarriers leaves each barrier out, one at a time.
func (c *Mutants) runBarriers(p *cli.Program, hunt *mutantsearch.Search) (int, error) {
	all := mutants.Barriers()
	for _, name := range c.Mutants {
		if err := cli.Known("mutant of a barrier", name, namesOf(all)); err != nil {
			return 0, err
		}
	}
	all = slices.DeleteFunc(all, func(m mutants.Mutant) bool {
		return len(c.Mutants) > 0 && !slices.Contains(c.Mutants, m.Name)
	})
	hunt.Most = c.Runs
	line := p.WatchParts("barriers", len(weakModels)*(len(library.Names())+len(all)), "search")
	defer line.Clear()
	hunt.Progress = func(runs, violations uint64) { line.Of(runs, c.Runs, runs, violations) }
	rows := make([]barrierRow, len(all))
	var fields []*mutantsearch.Field
	for _, model := range weakModels {
		f := &mutantsearch.Field{Model: model}
		for _, name := range library.Names() {
			p.Doing = fmt.Sprintf("scenario %s under %v", name, model)
			line.Part(name, 1)
			one, err := hunt.Survey(model, []string{name})
			if err != nil {
				return 0, err
			}
			if one == nil {
				return c.interrupted(p, line)
			}
			f.Scenarios = append(f.Scenarios, one.Scenarios...)
		}
		fields = append(fields, f)
		for i := range all {
			mu := &all[i]
			p.Doing = fmt.Sprintf("mutant %s under %v", mu.Name, model)
			line.Part(mu.Name, 1)
			d := &mutantsearch.Dropped{} // what can't matter
			if canMatter(model, mu.Barrier.Order()) {
				var err error
				if d, err = hunt.Without(f, mu.Barrier, mu.Name); err != nil {
					return 0, err
				}
			}
			if d == nil {
				return c.interrupted(p, line)
			}
			rows[i].take(mu, model, d)
		}
	}
	line.Complete()
	return c.printBarriers(p, rows, fields)
}

func (c *Mutants) interrupted(p *cli.Program, line *cli.Progress) (int, error) {
	line.Clear()
	fmt.Fprintln(p.Err, "kpsim: interrupted; what each barrier does is said at the end, of all of them")
	return cli.Interrupted, nil
}

func namesOf(all []mutants.Mutant) (names []string) {
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// take takes what came of a mutant under one model.
func (r *barrierRow) take(mu *mutants.Mutant, model smp.Ordering, d *mutantsearch.Dropped) {
	place := mu.Barrier.Place()
	if r.Under == nil {
		*r = barrierRow{Mutant: mu.Name, Barrier: place.Name, Order: place.Order.String(), Source: place.Source,
			Under: map[string]barrierRun{}}
	}
	run := barrierRun{Scenario: d.Scenario, Property: d.Property, After: d.After, Searched: d.Searched, Met: d.Met}
	if d.Scenario == "" {
		run.Reason = whyNot(model, place.Order, d)
	}
	r.Under[model.String()] = run
}

// canMatter reports whether the order needs an instruction of its own under the model.
func canMatter(model smp.Ordering, o kapi.Order) bool {
	return model != smp.TSO || o == kapi.OrderMB
}

// whyNot says why nothing may have been noticed.
func whyNot(model smp.Ordering, o kapi.Order, d *mutantsearch.Dropped) string {
	switch {
	case !canMatter(model, o):
		return "can't matter: x86 has this order without an instruction, or its locked one is there anyway"
	case d.Met == 0:
		return "no scenario comes to it"
	case d.Searched == 0:
		return "where it counts, something is broken with it, too"
	}
	return fmt.Sprintf("not noticed in %s", cli.Number(d.Searched, "scenario"))
}

// says is a cell of the table.
func (r *barrierRun) says() string {
	if r.Scenario == "" {
		return r.Reason
	}
	return fmt.Sprintf("%s in %s, schedule %d", r.Property, r.Scenario, r.After)
}

func (c *Mutants) printBarriers(p *cli.Program, rows []barrierRow, fields []*mutantsearch.Field) (int, error) {
	if c.JSON {
		for i := range rows {
			if err := p.PrintJSON(&rows[i]); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	if c.Markdown {
		fmt.Fprintf(p.Out, `# Which barriers matter

Written by `+"`kpsim mutants --barriers --markdown`"+` on %s. No line of it is written by hand. Tests aimed at a single order notice more: see [The memory models](memory.md).

Each order that the kernel's routines and the engines keep is left out, one at a time, under each memory model (docs/memory.md), in at most twelve scenarios of the library that reach it, %d schedules each. If this is noticed the cell has the first property that broke, the scenario, and the schedule's number.

| barrier | order | kept by | tso | lkmm |
|---|---|---|---|---|
`, time.Now().UTC().Format(time.DateOnly), c.Runs)
	}
	for i := range rows {
		r := &rows[i]
		tso, lkmm := r.Under[smp.TSO.String()], r.Under[smp.LKMM.String()]
		if c.Markdown {
			fmt.Fprintf(p.Out, "| %s | %s | %s | %s | %s |\n", r.Barrier, r.Order, r.Source, tso.says(), lkmm.says())
			continue
		}
		fmt.Fprintf(p.Out, "%s (%s)\n", r.Barrier, r.Order)
		p.Indented(cli.Indent, "tso: "+tso.says())
		p.Indented(cli.Indent, "lkmm: "+lkmm.says())
	}
	fmt.Fprintln(p.Out)
	for k, f := range fields {
		noticed, can := 0, 0
		for i := range rows {
			u := rows[i].Under[f.Model.String()]
			noticed += int(min(u.After, 1))
			if !strings.HasPrefix(u.Reason, "can't") {
				can++
			}
		}
		var broken []string
		for _, g := range f.Scenarios {
			if g.Broken != "" {
				broken = append(broken, fmt.Sprintf("%s (%s)", g.Name, g.Broken))
			}
		}
		p.Indented("", fmt.Sprintf("%v: %d of %s noticed, of which %d can matter; %s", weakModels[k], noticed,
			cli.Number(len(rows), "barrier"), can,
			cli.Number(len(f.Scenarios), "scenario")))
		if len(broken) > 0 {
			p.Indented("", "broken with all barriers in place, and left out: "+strings.Join(broken, ", "))
		}
	}
	return 0, nil
}
