package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/change"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/report"
)

// A search is an item, and what both kernels showed of it.
type search struct {
	item
	beside *change.Beside
	err    error // why it can't be run on the changed kernel
	more   bool  // it had its second round
}

// A rounds makes the runs of a review: few of everything first, then more of what reaches the change, then those that
// settle what few runs have shown. What is made in a round depends only on the results of the rounds before, so
// neither the number of workers nor time changes a verdict; only --for and ^C do.
type rounds struct {
	c    *Review
	p    *cli.Program
	r    *found
	list []*search
	all  int // number of searches that there will be
	left uint64
}

// depth says how deeply a review has searched.
type depth struct {
	firsts    int    // searches that had their first runs
	deeper    int    // of these, searches that had more
	shallow   int    // searches that had fewer runs than they should, for want of budget
	settled   int    // findings of few runs that were settled, or tried
	unsettled int    // findings of few runs that weren't tried, for want of budget
	steps     uint64 // what the rounds after the first cost, about
	saved     bool   // most of the budget was saved, because something is worse already
}

const (
	// sureOf is the number of scenarios in which the change breaks a property after which more of them say little.
	sureOf = 3

	// savedShare is the part of the budget that is spent if it is plain already that something is worse.
	savedShare = 4

	// searchShare is the part of the budget that the second round gets; the third has the rest.
	searchShare = 2

	// settleLeast is the part of the budget without which settling a finding isn't begun.
	settleLeast = 100 * change.Million

	// shownOf is the number of findings of a property, of those that are gained, lost or unsure, that get a witness:
	// those of the shortest runs. Those of the others would say the same.
	shownOf = 2
)

// rounds makes all rounds, and puts what they showed into the results.
func (c *Review) rounds(p *cli.Program, r *found, list *items) error {
	o := &rounds{c: c, p: p, r: r, all: len(list.items) + list.drawn, left: c.Budget * change.Million}
	r.odds.Comparisons = uint64(o.all)
	o.first(list)
	if o.plain() {
		o.left /= savedShare
		r.depth.saved = true
	}
	r.depth.steps = o.left
	o.deeper()
	if err := o.settle(); err != nil {
		return err
	}
	r.depth.steps -= o.left
	if err := o.show(); err != nil {
		return err
	}
	if o.over() && r.partly == "" {
		r.partly = fmt.Sprintf("Not all was run: all of %s, and of drawn programs, had their first runs, and %d had "+
			"more, when the time was up.", cli.Number(o.all, "scenario"), r.depth.deeper)
	}
	r.searched = o.list
	for _, s := range o.list {
		switch {
		case c.stop.Load() && s.beside == nil:
		case s.err != nil:
			r.dies = append(r.dies, left{s.sc.Name, s.err.Error()})
		case s.beside != nil:
			if err := r.add(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// over reports whether the time is up.
func (o *rounds) over() bool {
	return o.c.stop.Load() || o.c.For > 0 && time.Since(o.c.began) > o.c.For
}

// each does something with each of a list, several at once, until the time is up.
func each[T any](o *rounds, list []T, name func(T) string, do func(T)) {
	var done atomic.Uint64
	var stop atomic.Bool
	defer func() { // a bug of the simulator names its scenario
		if x := recover(); x != nil {
			if c, ok := x.(*parallel.Crash); ok {
				o.p.Doing = name(list[c.Job])
			}
			panic(x)
		}
	}()
	parallel.Run(o.c.Workers, len(list), &stop, func() (func(int), func()) {
		return func(i int) {
			if !o.over() && !stop.Load() {
				do(list[i])
				o.c.line.At(done.Add(1), name(list[i]))
			}
		}, func() {}
	})
}

func (s *search) name() string { return s.sc.Name }

// workers returns how many workers each job has.
func (o *rounds) workers(jobs int) int { return max(parallel.Workers(o.c.Workers)/max(jobs, 1), 1) }

// first makes the first runs of everything.
func (o *rounds) first(list *items) {
	c, r := o.c, o.r
	seed := gen.First(c.Seed)
	for from := 0; from < o.all && !o.over(); from += batch {
		var some []*search
		for i := from; i < min(from+batch, o.all); i++ {
			it := item{nil, nil, max(c.Runs/drawnShare, 1)}
			if i < len(list.items) {
				it = list.items[i]
			} else {
				it.sc = r.drawn(&seed)
			}
			some = append(some, &search{item: it})
		}
		c.line.Part("first runs", uint64(len(some)))
		workers := o.workers(len(some))
		each(o, some, (*search).name, func(s *search) {
			b := change.NewBeside(s.sc, change.Search{Base: r.before, Kernel: r.after, Runs: s.runs, Seed: c.Seed,
				Workers: workers, Cancelled: &c.stop, Odds: r.odds, Kept: r.kept}, r.code)
			b.Even = len(c.Scenarios) > 0
			if s.err = b.First(); !c.stop.Load() {
				s.beside = b
				c.heardSearch(s)
			}
		})
		o.list = append(o.list, some...)
		c.heardFirst(o)
	}
	for _, s := range o.list {
		if s.beside != nil {
			r.depth.firsts++
		}
	}
	if r.depth.firsts < o.all {
		r.partly = fmt.Sprintf("Not all was run: %d of %s, and of drawn programs, had their first runs, and nothing "+
			"had more.", r.depth.firsts, cli.Number(o.all, "scenario"))
	}
}

// plain reports whether something is worse already, without doubt.
func (o *rounds) plain() bool {
	n := 0
	for _, s := range o.list {
		if s.beside != nil && len(s.beside.Gained) > 0 {
			n++
		}
	}
	return n >= sureOf || len(o.r.answers) > 0
}

// deeper makes more runs of what isn't done.
func (o *rounds) deeper() {
	var todo []*search
	var wants []change.Want
	for _, s := range o.list {
		if s.beside != nil && s.err == nil && !s.beside.Done() {
			todo, wants = append(todo, s), append(wants, s.beside.Want())
		}
	}
	runs := make(map[*search]uint64)
	costs := make(map[*search]uint64)
	if len(o.c.Scenarios) > 0 { // they were asked for
		for i, s := range todo {
			runs[s] = wants[i].Runs
		}
	} else {
		for i, n := range change.Allot(wants, o.left/searchShare) {
			runs[todo[i]], costs[todo[i]] = n, n*wants[i].Each
			o.left -= min(costs[todo[i]], o.left)
		}
	}
	if todo = slices.DeleteFunc(todo, func(s *search) bool { return runs[s] <= s.beside.Stats.After.Runs }); o.over() {
		todo = nil
	}
	// the long ones first
	slices.SortStableFunc(todo, func(a, b *search) int { return cmp.Compare(costs[b], costs[a]) })
	o.c.line.Part("more runs", uint64(o.all))
	workers := o.workers(len(todo))
	each(o, todo, (*search).name, func(s *search) {
		b := *s.beside
		b.After.Workers, b.Before.Workers = workers, workers
		if err := b.More(runs[s]); err == nil && !o.c.stop.Load() {
			s.beside, s.more = &b, true
			o.c.heardSearch(s)
		} else if err != nil {
			s.err = err
		}
	})
	for _, s := range o.list {
		if s.beside != nil && !s.beside.Done() && s.beside.Stats.After.Runs < s.beside.Full {
			o.r.depth.shallow++
		}
		if s.more {
			o.r.depth.deeper++
		}
	}
}

// settle tries on the unchanged kernel what few runs have shown, one finding of each property at a time.
func (o *rounds) settle() (err error) {
	of := make(map[*change.Break]*search)
	var open []*change.Break
	gained := make(map[string]int) // scenarios by property
	for _, s := range o.list {
		if s.beside == nil {
			continue
		}
		for _, b := range s.beside.Open {
			of[b], open = s, append(open, b)
		}
		var seen []string
		for i := range s.beside.Gained {
			if q := s.beside.Gained[i].Property; !slices.Contains(seen, q) {
				seen = append(seen, q)
				gained[q]++
			}
		}
	}
	o.c.line.Part("settling", uint64(o.all))
	for _, wave := range change.Waves(open) {
		wave = slices.DeleteFunc(wave, func(b *change.Break) bool { return gained[b.Property] >= sureOf })
		most, all := uint64(change.SettleMost), len(wave)
		if len(o.c.Scenarios) == 0 {
			wave = slices.DeleteFunc(wave, func(b *change.Break) bool { return o.r.depth.saved && b.Dear() })
			wave = wave[:min(uint64(len(wave)), o.left/settleLeast)]
			most = min(most, o.left/uint64(max(len(wave), 1)))
		}
		o.r.depth.unsettled += all - len(wave)
		took, errs := make([]uint64, len(wave)), make([]error, len(wave))
		index := make([]int, len(wave))
		for i := range index {
			index[i] = i
		}
		each(o, index, func(i int) string { return of[wave[i]].sc.Name }, func(i int) {
			took[i], errs[i] = wave[i].Settle(most)
		})
		if err := cmp.Or(errs...); err != nil {
			return err
		}
		for i, b := range wave {
			o.left -= min(took[i], o.left)
			if o.r.depth.settled++; b.Worsens() {
				o.c.heardBreak(of[b], b)
				gained[b.Property]++
			}
		}
	}
	for _, s := range o.list {
		if s.beside != nil {
			s.beside.Sort()
		}
	}
	return nil
}

// A shown is a finding with what its witness shows.
type shown struct {
	name   string // of the scenario
	gained bool
	brk    *change.Break
	like   []string // known finds that the witness resembles
	says   string
	story  []string
}

// gained begins the keys of gained verdicts, so that they are sorted before others.
const gained = "gained "

// show makes the witnesses of some findings of each property, and their stories.
func (o *rounds) show() error {
	byProperty := make(map[string][]*shown)
	take := func(s *search, what string, b *change.Break) {
		key := what + b.Property
		byProperty[key] = append(byProperty[key], &shown{name: s.sc.Name, gained: what == gained, brk: b})
	}
	for _, s := range o.list {
		if s.beside == nil {
			continue
		}
		for _, of := range []struct {
			what string
			list []change.Break
		}{{gained, s.beside.Gained}, {"lost ", s.beside.Lost}, {"unsure ", s.beside.Unsure}} {
			for i := range of.list {
				take(s, of.what, &of.list[i])
			}
		}
		for _, b := range s.beside.Open {
			take(s, "unsure ", b)
		}
	}
	var some []*shown
	for _, key := range slices.Sorted(maps.Keys(byProperty)) { // what is gained comes first
		some = append(some, chosen(byProperty[key], o.r.depth.saved || len(some) > 0)...)
	}
	o.c.line.Aside("witnesses")
	errs := make([]error, len(some))
	parallel.Run(o.c.Workers, len(some), new(atomic.Bool), func() (func(int), func()) {
		return func(i int) { errs[i] = some[i].make(o.p) }, func() {}
	})
	o.r.stories = make(map[*shrink.Witness]*shown)
	for _, s := range some {
		if w := s.brk.Witness; w != nil {
			o.r.stories[w] = s
		}
	}
	return cmp.Or(errs...)
}

// chosen chooses those of a property's findings that are shown: the ones of the shortest runs. A witness of dear runs
// takes up to a minute, which is only worth it for a verdict that is gained if there are no others.
func chosen(all []*shown, others bool) []*shown {
	slices.SortStableFunc(all, func(a, b *shown) int { return cmp.Compare(a.brk.Each(), b.brk.Each()) })
	return slices.DeleteFunc(all[:min(len(all), shownOf)], func(s *shown) bool {
		return s.brk.Dear() && s.brk.Witness == nil && (others || !s.gained)
	})
}

// make makes the witness, unless it is there already, and its story.
func (s *shown) make(p *cli.Program) error {
	if err := s.brk.Show(); err != nil || s.brk.Witness == nil {
		return err
	}
	c, err := cause.Of(s.brk.Witness, s.name)
	if err != nil {
		return err
	}
	s.like = c.Like
	s.says, s.story = report.StoryOf(p, s.brk.Witness.File)
	return nil
}
