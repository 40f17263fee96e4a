package desk

import (
	"fmt"
	"slices"

	"kpsim/campaign/board"
	"kpsim/internal/ui/cli"
	"kpsim/properties"
)

// slowdownFactor is the factor of time per run from which a slowdown is reported. Below it is the
// noise of computers that do other things, too.
const slowdownFactor = 1.5

// minSeconds is the least time of a core, in seconds, for which a difference in speed is reported.
const minSeconds = 2.0

// A Change is one difference between two campaigns of one name.
type Change struct {
	What     string `json:"what"` // "new", "gone", "slower", "missing"
	Scenario string `json:"scenario"`
	Property string `json:"property,omitempty"`
	Says     string `json:"says"`
}

// Compare lists what a campaign shows that the previous one didn't, what it no longer shows, and what takes longer.
func Compare(before, after *board.State) (list []Change) {
	type key struct {
		search   int
		scenario string
	}
	was := make(map[key]*board.ScenarioEnd)
	for i := range before.ScenarioEnds {
		was[key{before.ScenarioEnds[i].Search, before.ScenarioEnds[i].Scenario}] = &before.ScenarioEnds[i]
	}
	for i := range after.ScenarioEnds {
		n := &after.ScenarioEnds[i]
		k := key{n.Search, n.Scenario}
		o := was[k]
		if o == nil {
			list = append(list, Change{What: "new", Scenario: n.Scenario, Says: "it wasn't explored before"})
			o = &board.ScenarioEnd{}
		} else {
			delete(was, k)
		}
		for _, q := range properties.All {
			a, b := o.Broken[q.Name], n.Broken[q.Name]
			switch {
			case a == 0 && b > 0:
				list = append(list, Change{"new", n.Scenario, q.Name,
					fmt.Sprintf("broken by %d of %s; previously by none of %s", b, cli.Number(n.Runs, "run"),
						cli.Number(o.Runs, "run"))})
			case a > 0 && b == 0:
				list = append(list, Change{"gone", n.Scenario, q.Name,
					fmt.Sprintf("broken by none of %s; previously by %d of %s", cli.Number(n.Runs, "run"), a,
						cli.Number(o.Runs, "run"))})
			}
		}
		if o.Runs > 0 && n.Runs > 0 && max(o.Seconds, n.Seconds) >= minSeconds {
			a, b := o.Seconds/float64(o.Runs), n.Seconds/float64(n.Runs)
			if b > slowdownFactor*a && a > 0 {
				list = append(list, Change{What: "slower", Scenario: n.Scenario,
					Says: fmt.Sprintf("a run takes %.0f µs of a core, previously %.0f", 1e6*b, 1e6*a)})
			}
		}
		if n.SetAside > 0 {
			list = append(list, Change{What: "missing", Scenario: n.Scenario, Says: cli.Number(n.SetAside, "unit") +
				" set aside"})
		}
	}
	for i := range before.ScenarioEnds { // in the previous campaign's order
		o := &before.ScenarioEnds[i]
		if was[key{o.Search, o.Scenario}] != nil {
			list = append(list, Change{What: "gone", Scenario: o.Scenario, Says: "it isn't explored any more"})
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int { return rank(a.What) - rank(b.What) })
	return list
}

func rank(what string) int { return slices.Index([]string{"missing", "new", "gone", "slower"}, what) }

// PrintChanges prints the differences between two campaigns.
func PrintChanges(p *cli.Program, before, after *board.State, list []Change) {
	fmt.Fprintf(p.Out, "\n%s beside %s:\n", after.ID, before.ID)
	if len(list) == 0 {
		fmt.Fprintln(p.Out, "  nothing is new, gone or slower")
	}
	for _, c := range list {
		what := c.Scenario
		if c.Property != "" {
			what += ", " + c.Property
		}
		p.Indented("  ", fmt.Sprintf("%-7s  %s: %s", c.What, what, c.Says))
	}
}
