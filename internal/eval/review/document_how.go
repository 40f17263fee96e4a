package review

import (
	"fmt"
	"strings"

	"kpsim/internal/search/change"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/linux"
)

// bothHave shows the violations of both sides.
func (r *found) bothHave() page.Section {
	s := page.Section{ID: "both", Title: "Verdicts that both have"}
	if len(r.both) == 0 {
		return s
	}
	t := &page.Table{Caption: "Both break this: of the change it says nothing.",
		Head: []string{"scenario", "property", "runs with the change", "runs before"}, Text: 2}
	for i := range r.both {
		v := &r.both[i]
		t.Add(page.Row(v.scenario, v.Property, share(v.Violations, v.Runs), share(v.Base, v.BaseRuns))...)
	}
	s.Blocks = append(s.Blocks, t)
	return s
}

// kernelSide describes a side: a release, and objects.
func (r *found) kernelSide(k *linux.Kernel, objects []cli.FileName) string {
	if len(objects) == 0 {
		return k.Image.Release
	}
	return k.Image.Release + " with " + names(objects)
}

// with counts the scenarios for which holds is true.
func (r *found) with(holds func(w *row) bool) (n int) {
	for i := range r.rows {
		if holds(&r.rows[i]) {
			n++
		}
	}
	return n
}

// deep says how deeply the scenarios were searched, and what goes on.
func (r *found) deep() string {
	if r.ofPrograms {
		return "Both made all their runs."
	}
	d := &r.depth
	says := fmt.Sprintf("%s came to no changed code before the change, in a fifth of the runs, nor with it in a few, "+
		"and got no more. %s got more runs, %s fewer than %d because of the budget.",
		cli.Number(r.with(func(w *row) bool { return w.unreached }), "scenario"), cli.Number(d.deeper, "scenario"),
		cli.Number(r.with(func(w *row) bool { return w.fewer }), "scenario"), r.c.Runs)
	if d.settled+d.unsettled > 0 {
		says += fmt.Sprintf(" What few runs showed was tried on the other side for %s, and not for %d.",
			cli.Number(d.settled, "finding"), d.unsettled)
	}
	if len(r.c.Scenarios) > 0 {
		return says
	}
	says += fmt.Sprintf(" Runs after the first ones took about %d of %d million instructions", d.steps/change.Million,
		r.c.Budget)
	if d.saved {
		says += fmt.Sprintf(", of which a review spends 1/%d if something is plainly worse already", savedShare)
	}
	return says + "."
}

// shortOf says what the budget was too small for, and what to type to go on; "" if it was enough.
func (r *found) shortOf() string {
	d := &r.depth
	if r.ofPrograms || len(r.c.Scenarios) > 0 || r.partly != "" || d.shallow+d.unsettled == 0 {
		return ""
	}
	var says []string
	if d.shallow > 0 {
		says = append(says, cli.Number(d.shallow, "scenario")+" got fewer runs than they should")
	}
	if d.unsettled > 0 {
		says = append(says, cli.Number(d.unsettled, "finding")+" of few runs stayed unsure")
	}
	return fmt.Sprintf("The budget ended the search: %s. `--budget %d` goes on.", strings.Join(says, ", and "),
		goOnTimes*max(r.c.Budget, 1))
}

// goOnTimes is the factor of the budget that is proposed.
const goOnTimes = 4

// how shows what was run.
func (r *found) how(whole bool) page.Section {
	s := page.Section{ID: "how", Title: "What was run"}
	var runs uint64
	for i := range r.rows {
		runs += r.rows[i].before.Runs + r.rows[i].after.Runs
	}
	s.Blocks = append(s.Blocks, page.List{
		page.Text("Before: " + r.sides[0] + "."), page.Text("With the change: " + r.sides[1] + "."),
		page.Text(fmt.Sprintf("%s, %d runs on both sides together; what only one showed was looked for on the "+
			"other in up to four times as many. A verdict is gained if chance does that in fewer than one of a "+
			"thousand reviews. Seed %d.", cli.Number(len(r.rows), "scenario"), runs, r.c.Seed)),
		page.Text(r.deep()),
		page.Text(fmt.Sprintf("%s left out, because one side can't run them.", cli.Number(len(r.left), "scenario"))),
	})
	if !whole {
		return s
	}
	t := &page.Table{Caption: "Runs that broke something, by scenario.",
		Head: []string{"scenario", "with the change", "before", "runs that came to changed code"}, Text: 1}
	g := page.Group{}
	for i := range r.rows {
		w := &r.rows[i]
		came := "-"
		if len(r.code.Places) > 0 && !r.ofPrograms {
			came = share(w.reached, w.after.Runs)
		}
		g.Rows = append(g.Rows, page.Row(w.name, share(w.after.Violations, w.after.Runs),
			share(w.before.Violations, w.before.Runs), came))
	}
	t.Groups = []page.Group{g}
	d := &page.Details{Summary: "Each scenario", Blocks: []page.Block{t}}
	var list page.List
	for _, l := range r.left {
		list = append(list, page.Text(l.name+": "+quoted(l.why)))
	}
	s.Blocks = append(s.Blocks, d)
	if len(list) > 0 {
		s.Blocks = append(s.Blocks, &page.Details{Summary: "Left out", Blocks: []page.Block{list}})
	}
	return s
}
