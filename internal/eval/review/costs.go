package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// A cost is the cost of a hit or a call on both sides.
type cost struct {
	before, after *kernelcost.Hit
}

// more returns the relative increase of the cost.
func (c *cost) more() float64 {
	if c.before.Cycles == 0 {
		return 0
	}
	return c.after.Cycles/c.before.Cycles - 1
}

// costs pairs the costs of both sides.
func (r *found) costs() (list []cost) {
	for i := range min(len(r.hitsBefore), len(r.hitsAfter)) {
		if a, b := &r.hitsBefore[i], &r.hitsAfter[i]; a.Counted && b.Counted {
			list = append(list, cost{a, b})
		}
	}
	return list
}

// slower reports whether a hit's cost rose by more than the limit. Calls aren't judged, since
// much of them is done in Go.
func (r *found) slower(c *cost) bool {
	return !c.before.Call && 100*c.after.Cycles > float64(100+r.c.Slower)*c.before.Cycles
}

// sameCall is the relative change of a call's cost that doesn't count: the time of a symbol
// search depends on the symbols' places.
const sameCall = 0.01

// prices shows the costs of hits and calls on both sides.
func (r *found) prices(whole bool) page.Section {
	s := page.Section{ID: "costs", Title: "What hits and calls cost"}
	var differ, same []cost
	for _, c := range r.costs() {
		a, b, more := c.before, c.after, c.more()
		if a.Call && more < sameCall && more > -sameCall || a.Instructions == b.Instructions && a.Cycles == b.Cycles {
			same = append(same, c)
		} else {
			differ = append(differ, c)
		}
	}
	if len(differ) > 0 {
		s.Blocks = append(s.Blocks,
			r.priced(differ, "Instructions of the kernel's own code, lines of cache that they touch, and "+
				"estimated cycles, of one hit or call on one CPU."))
	}
	if len(same) == 0 {
		return s
	}
	hits := 0
	for _, c := range same {
		if !c.before.Call {
			hits++
		}
	}
	var says []string
	for _, n := range []struct {
		n    int
		what string
	}{{hits, "hit"}, {len(same) - hits, "call"}} {
		if n.n > 0 {
			says = append(says, fmt.Sprintf("%s of %s", cli.Number(n.n, "kind"), n.what))
		}
	}
	s.Blocks = append(s.Blocks,
		page.Text("As before: "+strings.Join(says, ", ")+fmt.Sprintf(" (calls to %g %%).", 100*sameCall)))
	if whole {
		s.Blocks = append(s.Blocks, &page.Details{Summary: "What costs the same",
			Blocks: []page.Block{r.priced(same, "As the table before, of what costs the same.")}})
	}
	return s
}

// priced is the table of some costs.
func (r *found) priced(list []cost, caption page.Text) *page.Table {
	t := &page.Table{Caption: caption,
		Over: []page.Over{{Name: "", Columns: 1}, {Name: "instructions", Columns: 2}, {Name: "lines", Columns: 2},
			{Name: "cycles", Columns: 3}},
		Head: []string{"hit or call", "before", "now", "before", "now", "before", "now", "more"}, Text: 1}
	if r.ofPrograms {
		t.Caption, t.Over, t.Head = "Estimated cycles of a hit, by the mechanistic costs of "+kernelcost.Machine+".",
			nil, []string{"hit", "before", "now", "more"}
	}
	groups := [2]page.Group{{Name: "a hit"}, {Name: "a call, or the work after one"}}
	for i := range list {
		c := &list[i]
		a, b := c.before, c.after
		row := page.Row(a.Says, fmt.Sprint(a.Instructions), fmt.Sprint(b.Instructions), fmt.Sprint(a.Lines),
			fmt.Sprint(b.Lines), fmt.Sprintf("%.0f", a.Cycles), fmt.Sprintf("%.0f", b.Cycles),
			fmt.Sprintf("%+.1f %%", 100*c.more()))
		if r.ofPrograms {
			row = slices.Delete(row, 1, 5)
		}
		if r.slower(c) {
			row[0].Is, row[0].Mark = page.Bad, "dearer"
		}
		g := &groups[0]
		if a.Call {
			g = &groups[1]
		}
		g.Rows = append(g.Rows, row)
	}
	for _, g := range groups {
		if len(g.Rows) > 0 {
			t.Groups = append(t.Groups, g)
		}
	}
	return t
}

// priced asks both programs for the costs of hits, with one machine's mechanistic costs.
func (c *Review) priced(r *found, before, after *program) error {
	for _, side := range []struct {
		q    *program
		hits *[]kernelcost.Hit
	}{{before, &r.hitsBefore}, {after, &r.hitsAfter}} {
		c.line.Part("hits", 1)
		err := side.q.lines(c, nil, func(line []byte) error {
			var h struct {
				Probe, Says string
				Cycles      float64
			}
			if err := json.Unmarshal(line, &h); err != nil || h.Probe == "" {
				return err
			}
			*side.hits = append(*side.hits, kernelcost.Hit{Kind: h.Probe, Says: h.Says, Counted: true,
				Cycles: h.Cycles})
			return nil
		}, "overhead", "--json", "--machine", kernelcost.Machine, "--tier", "mechanistic")
		if err != nil {
			return err
		}
	}
	if len(r.hitsBefore) != len(r.hitsAfter) || slices.ContainsFunc(r.hitsBefore, func(h kernelcost.Hit) bool {
		return !slices.ContainsFunc(r.hitsAfter, func(g kernelcost.Hit) bool { return g.Kind == h.Kind })
	}) {
		r.hitsBefore, r.hitsAfter = nil, nil // the two have different kinds of hit
	}
	return nil
}

func sum(m map[string]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}
