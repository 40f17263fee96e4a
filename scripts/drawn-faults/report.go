package main

import (
	"fmt"
	"io"
	"strings"
)

// A verdict is the result of all searches for a fault.
type verdict struct {
	*Fault
	reached bool
	changed bool
	by      []*trial // the trials that noticed, in the order of the searches
	all     []*trial
	same    bool   // all searches print the same as without it
	why     string // why it changes nothing; "": it does, or may
}

func (o *options) verdicts(list []*Fault, r *results, equal map[string]string) (all []*verdict) {
	for _, x := range list {
		v := &verdict{Fault: x, why: equal[x.ID], same: true}
		for _, s := range o.Search {
			t := r.get(x.ID, s)
			if t == nil {
				continue
			}
			v.all = append(v.all, t)
			clean := r.get(none, s)
			v.same = v.same && clean != nil && t.Shown != "" && t.Shown == clean.Shown
			v.reached = v.reached || t.Far != neverReached
			v.changed = v.changed || t.Far != neverReached && t.Far != "reached"
			if t.noticed() {
				v.by = append(v.by, t)
			}
		}
		if len(v.all) == len(o.Search) || len(v.by) > 0 && v.by[0].Search == o.Search[0] {
			all = append(all, v)
		}
	}
	return all
}

// Counts are a row of the table.
type counts struct{ drawn, equal, never, first, other, not int }

func (c *counts) add(v *verdict, first string) {
	c.drawn++
	switch {
	case len(v.by) > 0 && v.by[0].Search == first:
		c.first++
	case len(v.by) > 0:
		c.other++
	case v.why != "":
		c.equal++
	case !v.reached:
		c.never++
	default:
		c.not++
	}
}

// share is the share of noticed faults among those that change something.
func (c *counts) share() string {
	n := c.drawn - c.equal
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d %%", (100*(c.first+c.other)+n/2)/n)
}

// report prints the table by kind and the faults that no search noticed.
func (o *options) report(w io.Writer, all []*verdict) {
	first := o.Search[0]
	fmt.Fprintf(w, "| kind | drawn | changes nothing | never reached | noticed by `%s` | by another search only | "+
		"reached, not noticed | share |\n", first)
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|")
	var sum counts
	for _, k := range append(append([]string(nil), kinds...), "") {
		var c counts
		for _, v := range all {
			if v.Kind == k {
				c.add(v, first)
				sum.add(v, first)
			}
		}
		if k == "" {
			k, c = "all", sum
		}
		if c.drawn > 0 {
			fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %s |\n",
				k, c.drawn, c.equal, c.never, c.first, c.other, c.not, c.share())
		}
	}
	fmt.Fprintln(w, "\nThe share is of those that change something.")
	hows := make(map[string]int)
	for _, v := range all {
		if len(v.by) > 0 {
			hows[v.by[0].How]++
		}
	}
	var parts []string
	for _, h := range []string{violation, missing, refused, crash, status} {
		if hows[h] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", h, hows[h]))
		}
	}
	fmt.Fprintf(w, "How the first search that noticed did: %s.\n", strings.Join(parts, ", "))
	for _, part := range []struct {
		title string
		is    func(v *verdict) bool
	}{
		{"Reached, not noticed, though the searches print other numbers", func(v *verdict) bool {
			return v.why == "" && v.reached && v.changed && !v.same
		}},
		{"Reached, not noticed, and the searches print the same", func(v *verdict) bool {
			return v.why == "" && v.reached && v.changed && v.same
		}},
		{"Reached, but never with another value", func(v *verdict) bool {
			return v.why == "" && v.reached && !v.changed
		}},
		{"Never reached", func(v *verdict) bool { return v.why == "" && !v.reached }},
		{"Changes nothing", func(v *verdict) bool { return v.why != "" }},
	} {
		fmt.Fprintf(w, "\n## %s\n\n", part.title)
		for _, v := range all {
			if len(v.by) == 0 && part.is(v) {
				fmt.Fprintf(w, "- %s:%d, %s, %s: `%s` becomes `%s`%s\n",
					v.File, v.Line, v.Func, v.Kind, v.Before, v.After, because(v))
			}
		}
	}
}

// because says why a fault changes nothing, or which search had no time.
func because(v *verdict) string {
	if v.why != "" {
		return ": " + v.why
	}
	var list []string
	for _, t := range v.all {
		if t.How == late {
			list = append(list, "`"+t.Search+"`")
		}
	}
	if list == nil {
		return ""
	}
	return " (not to its end: " + strings.Join(list, ", ") + ")"
}
