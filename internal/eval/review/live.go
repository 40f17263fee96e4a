package review

import (
	"fmt"
	"slices"

	"kpsim/internal/search/change"
	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
	"kpsim/linux"
)

// A Heard is a result that a review tells as it comes.
type Heard struct {
	Worse    bool   // only the changed kernel does this; false: a part is done
	Scenario string // "" for a part
	Property string // "" if none is broken
	Says     string
}

// Live reviews a changed kernel, and calls hear for each result, by one goroutine at a time. Scenarios that come to
// what changed are run before others. worse lists in the end what is worse; to explains the first of it, "" if there is
// no witness. Stop ends it early.
func (c *Review) Live(p *cli.Program, before, after *linux.Kernel, hear func(Heard)) (worse []string, to string,
	err error) {
	calls := make(chan struct{}, 1)
	c.hear = func(h Heard) {
		calls <- struct{}{}
		defer func() { <-calls }()
		if !c.stop.Load() {
			hear(h)
		}
	}
	r, err := c.between(p, before, after)
	if err != nil || c.stop.Load() {
		return nil, "", err
	}
	if err := r.write(); err != nil {
		return nil, "", err
	}
	for i := range r.gained {
		if v := &r.gained[i]; v.trace != "" {
			return r.worse(), c.Kernel.Line("explain", v.trace), nil
		}
	}
	if len(r.files) > 0 {
		to = c.Kernel.Line("compare", r.files[0])
	}
	return r.worse(), to, nil
}

// Stop ends a review early. Any goroutine may call it.
func (c *Review) Stop() { c.stop.Store(true) }

// order puts the scenarios that reach the changed code first, if results are printed as they come.
func (c *Review) order(r *found, list *items) {
	if c.hear == nil {
		return
	}
	comes := make(map[string]bool)
	for _, it := range list.items {
		comes[it.sc.Name] = r.kept.ComesTo(it.sc, r.code)
	}
	slices.SortStableFunc(list.items, func(a, b item) int {
		switch {
		case comes[a.sc.Name] == comes[b.sc.Name]:
			return 0
		case comes[a.sc.Name]:
			return -1
		}
		return 1
	})
}

// heard tells of something that only the changed kernel does.
func (c *Review) heard(name, says string) {
	if c.hear != nil {
		c.hear(Heard{Worse: true, Scenario: name, Says: says})
	}
}

// heardSmall reports that the small programs of up to n calls have run.
func (c *Review) heardSmall(s *small.Session, calls int) {
	if c.hear == nil {
		return
	}
	var run uint64
	var first *small.Find
	finds := 0
	for _, x := range s.Results() {
		for _, l := range x.Levels {
			run += l.Run
		}
		if finds += len(x.Finds); first == nil && len(x.Finds) > 0 {
			first = x.Finds[0]
		}
	}
	h := Heard{Says: fmt.Sprintf("small programs of up to %s: %d run, ", cli.Number(calls, "call"), run)}
	if first == nil {
		h.Says += "all answered by the rules, or as before"
	} else {
		h.Worse, h.Scenario = true, "small programs"
		h.Says += fmt.Sprintf("%s answered otherwise; the first after %v: %s", cli.Number(finds, "kind"), first.Calls,
			first.Says)
	}
	c.hear(h)
}

// heardSearch tells of what a scenario has gained.
func (c *Review) heardSearch(s *search) {
	if c.hear == nil {
		return
	}
	for i := range s.beside.Gained {
		c.heardBreak(s, &s.beside.Gained[i])
	}
	if s.err != nil {
		c.heard(s.sc.Name, s.err.Error())
	}
}

// heardBreak tells of a property that only the changed kernel breaks.
func (c *Review) heardBreak(s *search, b *change.Break) {
	if c.hear == nil {
		return
	}
	v := difference{Break: *b}
	now, was := v.shares()
	c.hear(Heard{Worse: true, Scenario: s.sc.Name, Property: b.Property,
		Says: fmt.Sprintf("in %s runs; before in %s", now, was)})
}

// heardFirst tells of the first runs so far.
func (c *Review) heardFirst(o *rounds) {
	if c.hear == nil || c.stop.Load() {
		return
	}
	reached := 0
	for _, s := range o.list {
		if s.beside != nil && !s.beside.Unreached {
			reached++
		}
	}
	c.hear(Heard{Says: fmt.Sprintf("first runs of %d of %s: %d come to what changed", len(o.list),
		cli.Number(o.all, "scenario"), reached)})
}
