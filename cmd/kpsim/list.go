package main

import (
	"fmt"
	"strings"

	"kpsim/properties"
	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/traces/view"
)

type listCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (listCmd) Help() string {
	return `What the names mean that explore takes, and that its lines give.

Examples:

  kpsim list
  kpsim list --json

Exit status: 0, or 2 for bad input.`
}

// The lists, as --json prints them.
type listing struct {
	Scenarios  []listedScenario `json:"scenarios"`
	Properties []listedProperty `json:"properties"`
	Mutants    []listedMutant   `json:"mutants"`
	Strategies []listedStrategy `json:"strategies"`
}

type listedScenario struct {
	Name        string `json:"name"`
	Says        string `json:"says"`
	Expectation string `json:"expectation"`
}

type listedProperty struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Says string `json:"says"`
}

type listedMutant struct {
	Name     string `json:"name"`
	Says     string `json:"says"`
	Scenario string `json:"scenario"`
	Property string `json:"property"`
}

type listedStrategy struct {
	Name string `json:"name"`
	Says string `json:"says"`
}

func (c *listCmd) run(p *program) (int, error) {
	var l listing
	for _, s := range scenario.Builtin() {
		l.Scenarios = append(l.Scenarios, listedScenario{s.Name, s.Says, expectation(s.Expect)})
	}
	for _, q := range properties.All {
		l.Properties = append(l.Properties, listedProperty{q.ID, q.Name, q.Says})
	}
	for i := range mutant.All {
		m := &mutant.All[i]
		l.Mutants = append(l.Mutants, listedMutant{m.Name, m.Says, m.Scenario, m.Property})
	}
	for _, s := range sched.All {
		l.Strategies = append(l.Strategies, listedStrategy{s.Name, s.Says})
	}
	if c.JSON {
		return exitOK, p.printJSON(l)
	}
	l.print(p)
	return exitOK, nil
}

// expectation prints what a scenario's author expects.
func expectation(e scenario.Expect) string {
	switch {
	case e.Sometimes:
		return "sometimes " + e.Property
	case e.Canary != "":
		return "never, canary " + e.Canary
	}
	return "never"
}

func (l *listing) print(p *program) {
	var t table
	for _, s := range l.Scenarios {
		t.add(s.Name, s.Expectation, s.Says)
	}
	t.print(p, "Scenarios: what may be explored, and what is expected of all its schedules together")

	t = table{}
	for _, q := range l.Properties {
		t.add(q.ID, q.Name, q.Says)
	}
	t.print(p, "\nProperties: what must hold in every run")

	t = table{}
	for _, m := range l.Mutants {
		t.add(m.Name, m.Scenario+": "+m.Property, m.Says)
	}
	t.print(p, "\nMutants: what can be broken on purpose, and where which property notices")

	t = table{}
	for _, s := range l.Strategies {
		t.add(s.Name, s.Says)
	}
	t.print(p, "\nStrategies: who decides the schedules")
}

// A table is rows of cells, of which all but the last are padded. On a narrow terminal the
// last is below the others.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(p *program, title string) {
	if rest, ok := strings.CutPrefix(title, "\n"); ok {
		fmt.Fprintln(p.out)
		title = rest
	}
	p.indented("", title)
	var width [3]int
	for _, r := range t.rows {
		for i, cell := range r {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, r := range t.rows {
		line := " "
		for i, cell := range r[:len(r)-1] {
			line += fmt.Sprintf(" %-*s ", width[i], cell)
		}
		last := r[len(r)-1]
		if whole := line + " " + last; p.width == 0 || view.Visible(whole) <= p.width {
			fmt.Fprintln(p.out, whole)
			continue
		}
		p.indented("  ", strings.TrimSpace(line))
		p.indented(indent+"  ", last)
	}
}
