package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces/view"
)

// List is kpsim list.
type List struct {
	What []string `arg:"" optional:"" name:"listed" help:"A list, scenarios, properties, mutants, strategies, barriers or history, or names of what is in one, as T2 or a commit. None: all but the last two."`
	Filters
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*List) Help() string {
	return `List the scenarios, properties, mutants and strategies.

What the names mean that explore takes, and that its lines give. Filters select rows: by the kind of patch, the engine that can run it, the property that it is about, and words. What passes all of them is printed.

Examples:

  kpsim list
  kpsim list scenarios
  kpsim list T2 no-quiesce safe-none
  kpsim list --kind jump-label
  kpsim list --engine linux --property T2
  kpsim list scenarios --search nmi
  kpsim list barriers
  kpsim list history
  kpsim list --json

Exit status: 0, or 2 for bad input.`
}

// A listing holds the lists, as printed by --json.
type listing struct {
	Scenarios  []listedScenario `json:"scenarios,omitempty"`
	Properties []listedProperty `json:"properties,omitempty"`
	Mutants    []listedMutant   `json:"mutants,omitempty"`
	Strategies []listedStrategy `json:"strategies,omitempty"`
	Barriers   []listedBarrier  `json:"barriers,omitempty"`
	History    []listedFix      `json:"history,omitempty"`
}

// The names of the lists.
const (
	listScenarios  = "scenarios"
	listProperties = "properties"
	listMutants    = "mutants"
	listStrategies = "strategies"
	listBarriers   = "barriers"
	listHistory    = "history"
)

var lists = []string{listScenarios, listProperties, listMutants, listStrategies, listBarriers, listHistory}

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

// A listedBarrier is a memory ordering that a mutant can omit.
type listedBarrier struct {
	Mutant string `json:"mutant"`
	Keeps  string `json:"keeps"`
	Order  string `json:"order"`
	Source string `json:"source"`
}

type listedStrategy struct {
	Name string `json:"name"`
	Says string `json:"says"`
}

// A listedFix is a fault of kernels, fixed or not.
type listedFix struct {
	Commit     string   `json:"commit,omitempty"`
	Introduced string   `json:"introduced"`
	Fixed      string   `json:"fixed"`
	Area       string   `json:"area"`
	Kind       string   `json:"kind"`
	Seen       string   `json:"seen"`
	Back       []string `json:"back"`
	Says       string   `json:"says"`
}

func (c *List) Run(p *cli.Program) (int, error) {
	for _, w := range c.What {
		if err := cli.Known("list, and nothing in one,", w, Listed()); err != nil {
			return 0, err
		}
	}
	if err := c.check(); err != nil {
		return 0, err
	}
	l := c.scenarios()
	if !c.Filters.scenarios() {
		c.others(&l)
	}
	if c.JSON {
		return cli.OK, p.PrintJSON(l)
	}
	if c.any() && l.empty() {
		p.Indented("", c.nothing())
	}
	l.print(p)
	return cli.OK, nil
}

// scenarios returns a listing with the scenarios.
func (c *List) scenarios() (l listing) {
	for _, s := range library.All() {
		if c.wants(listScenarios, s.Name) && c.scenario(s) {
			l.Scenarios = append(l.Scenarios, listedScenario{s.Name, s.Says, expectation(s.Expect)})
		}
	}
	return l
}

// others adds what isn't a scenario.
func (c *List) others(l *listing) {
	for _, q := range properties.All {
		if c.wants(listProperties, q.ID, q.Name) && c.about(q.Name) && c.words(q.ID, q.Name, q.Says) {
			l.Properties = append(l.Properties, listedProperty{q.ID, q.Name, q.Says})
		}
	}
	mutant := func(m *mutants.Mutant) {
		if c.about(m.Property) && c.words(m.Name, m.Says, m.Scenario, m.Property) {
			l.Mutants = append(l.Mutants, listedMutant{m.Name, m.Says, m.Scenario, m.Property})
		}
	}
	for i := range mutants.All {
		if m := &mutants.All[i]; c.wants(listMutants, m.Name) {
			mutant(m)
		}
	}
	for i := range mutants.Unchecked {
		if m := &mutants.Unchecked[i]; len(c.What) > 0 && c.wants(m.Name) {
			mutant(m)
		}
	}
	for _, s := range sched.All {
		if c.wants(listStrategies, s.Name) && c.Property == "" && c.words(s.Name, s.Says) {
			l.Strategies = append(l.Strategies, listedStrategy{s.Name, s.Says})
		}
	}
	for _, m := range mutants.Barriers() {
		place := m.Barrier.Place()
		if len(c.What) > 0 && c.wants(listBarriers, m.Name) && c.about(m.Property) &&
			c.words(m.Name, place.Name, place.Source) {
			l.Barriers = append(l.Barriers, listedBarrier{m.Name, place.Name, place.Order.String(), place.Source})
		}
	}
	for i := range mutants.History() {
		f := &mutants.History()[i]
		if len(c.What) > 0 && c.wants(listHistory, cmp.Or(f.Commit, listHistory)) && c.Property == "" &&
			c.words(f.Commit, f.Area, f.Kind, f.Says) {
			l.History = append(l.History, listFix(f))
		}
	}
}

// empty reports whether no row is listed.
func (l *listing) empty() bool {
	return len(l.Scenarios)+len(l.Properties)+len(l.Mutants)+len(l.Strategies)+len(l.Barriers)+len(l.History) == 0
}

// wants reports whether any of the words was requested: the name of a list, or of something in
// it.
func (c *List) wants(words ...string) bool {
	return len(c.What) == 0 || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(c.What, w) })
}

func listFix(f *mutants.Fix) listedFix {
	l := listedFix{Commit: f.Commit, Introduced: f.Introduced.String(), Fixed: f.Fixed.String(), Area: f.Area,
		Kind: f.Kind, Seen: f.Seen, Says: f.Says}
	for _, b := range f.Back {
		l.Back = append(l.Back, b.String())
	}
	return l
}

// Listed returns everything that may be requested.
func Listed() []string {
	words := slices.Concat(lists, library.Names(), mutants.Known(), properties.Words())
	for _, s := range sched.All {
		words = append(words, s.Name)
	}
	for i := range mutants.History() {
		if f := &mutants.History()[i]; f.Commit != "" {
			words = append(words, f.Commit)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// expectation describes what a scenario expects.
func expectation(e scenario.Expect) string {
	switch {
	case e.Sometimes:
		return "sometimes " + e.Property
	case e.Canary != "":
		return "never, canary " + e.Canary
	}
	return "never"
}

func (l *listing) print(p *cli.Program) {
	var scenarios, properties, mutants, strategies, barriers, history table
	for _, s := range l.Scenarios {
		scenarios.add(s.Name, s.Expectation, s.Says)
	}
	for _, q := range l.Properties {
		properties.add(q.ID, q.Name, q.Says)
	}
	for _, m := range l.Mutants {
		mutants.add(m.Name, m.Scenario+": "+m.Property, m.Says)
	}
	for _, s := range l.Strategies {
		strategies.add(s.Name, s.Says)
	}
	for _, b := range l.Barriers {
		barriers.add(b.Mutant, b.Order, b.Source)
	}
	for _, f := range l.History {
		history.add(cmp.Or(f.Commit, "-"), f.Introduced+" until "+f.Fixed, strings.Join(f.Back, "; ")+": "+f.Says)
	}
	between := ""
	for _, t := range []struct {
		*table
		title string
	}{
		{&scenarios, "Scenarios: what may be explored, and what is expected of all its schedules together"},
		{&properties, "Properties: what must hold in every run"},
		{&mutants, "Mutants: what can be broken on purpose, and where which property notices"},
		{&strategies, "Strategies: who decides the schedules"},
		{&barriers, "Barriers: what keeps accesses in order, each a mutant that leaves it out; under memory sc " +
			"none can matter"},
		{&history, "History: faults that kernels had, by the release that mended them, and what brings each back"},
	} {
		if len(t.rows) > 0 {
			t.print(p, between+t.title)
			between = "\n"
		}
	}
}

// A table has rows of cells; all but the last are padded. On a narrow terminal the last cell goes
// below the others.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(p *cli.Program, title string) {
	if rest, ok := strings.CutPrefix(title, "\n"); ok {
		fmt.Fprintln(p.Out)
		title = rest
	}
	p.Indented("", title)
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
		if whole := line + " " + last; p.Width == 0 || view.Visible(whole) <= p.Width {
			fmt.Fprintln(p.Out, whole)
			continue
		}
		p.Indented("  ", strings.TrimSpace(line))
		p.Indented(cli.Indent+"  ", last)
	}
}
