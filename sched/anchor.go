package sched

import (
	"fmt"

	"kpsim/sim"
	"kpsim/traces"
)

// A Locator knows the names of things. The machine provides it.
type Locator interface {
	// Where returns the place of a mover, as in a traces.Deviation.
	Where(m sim.Mover) (name string, off int, text bool)

	// Alternative names alternative pick of the question. Names differ within
	// a question, and alternative 0 of a Step is the name of the mover.
	Alternative(p *sim.Point, pick int) string
}

// A place is a position at which questions about a mover were asked.
type place struct {
	mover string
	name  string
	off   int
	text  bool
	kind  sim.Kind
	times int
	since int // the last deviation, if that was number turn
	turn  int
}

// places counts how often each mover was at each place.
type places struct {
	loc   Locator
	index map[placeKey]int
	list  []place // in the order in which they were first reached
	turn  int     // deviations so far
	last  int     // index of the place visited last
}

type placeKey struct {
	mover sim.Mover
	kind  sim.Kind
	text  bool
	off   int
	name  string
}

func (ps *places) reset() {
	if ps.index == nil {
		ps.index = make(map[placeKey]int)
	}
	clear(ps.index)
	ps.list = ps.list[:0]
	ps.turn = 0
}

// visit counts the question, and returns its place.
func (ps *places) visit(p *sim.Point) *place {
	name, off, text := ps.loc.Where(p.First)
	k := placeKey{p.First, p.Kind, text, off, name}
	i, ok := ps.index[k]
	if !ok {
		i = len(ps.list)
		ps.index[k] = i
		ps.list = append(ps.list, place{mover: moverName(ps.loc, p), name: name, off: off, text: text, kind: p.Kind})
	}
	at := &ps.list[i]
	if at.turn != ps.turn {
		at.turn, at.since = ps.turn, 0
	}
	at.times++
	at.since++
	ps.last = i
	return at
}

// anchor returns the place as a deviation to alt, counted from the start.
func (at *place) anchor(alt string) traces.Deviation {
	return traces.Deviation{Mover: at.mover, Name: at.name, Off: at.off, Text: at.text, Occ: at.times, Kind: at.kind,
		Alt: alt}
}

// moverName names the mover of alternative 0, or the CPU that a question is about.
func moverName(l Locator, p *sim.Point) string {
	if p.Kind == sim.Step {
		return l.Alternative(p, 0)
	}
	return fmt.Sprintf("cpu%d", p.First)
}

// Labeller turns the deviations of a strategy into anchors. It asks the strategy every
// question, so it wraps a replay, not a search.
type Labeller struct {
	Strategy
	All bool // also record every question

	places  places
	anchors []traces.Deviation
	links   []traces.Deviation
	visits  []Visit
}

// A Visit is one question of a run.
type Visit struct {
	traces.Deviation          // the question; Alt is the alternative taken
	Since            int      // Occ, counted from the deviation before
	Place            int      // equal for equal movers, kinds and places of one run
	Alts             []string // its alternatives by name, 0 first
	Pick             int      // the index of the chosen one
}

// NewLabeller returns a Labeller around s.
func NewLabeller(s Strategy, l Locator) *Labeller {
	return &Labeller{Strategy: s, places: places{loc: l}}
}

// Anchors returns the deviations of the last run. It is valid until Begin.
func (l *Labeller) Anchors() []traces.Deviation { return l.anchors }

// Links returns them as a Chain needs them.
func (l *Labeller) Links() []traces.Deviation { return l.links }

// Visits returns every question, if All is set.
func (l *Labeller) Visits() []Visit { return l.visits }

// Begin implements Strategy.
func (l *Labeller) Begin(i uint64) bool {
	l.places.reset()
	l.anchors, l.links, l.visits = l.anchors[:0], l.links[:0], l.visits[:0]
	return l.Strategy.Begin(i)
}

// Choose implements sim.Chooser.
func (l *Labeller) Choose(p *sim.Point) (pick, hold int) {
	at := l.places.visit(p)
	pick, _ = l.Strategy.Choose(p)
	if l.All {
		v := Visit{Since: at.since, Place: l.places.last, Pick: pick}
		for k := range p.N {
			v.Alts = append(v.Alts, l.places.loc.Alternative(p, k))
		}
		v.Deviation = at.anchor(v.Alts[pick])
		l.visits = append(l.visits, v)
	}
	if pick != 0 {
		a := at.anchor(l.places.loc.Alternative(p, pick))
		l.anchors = append(l.anchors, a)
		a.Occ = at.since
		l.links = append(l.links, a)
		l.places.turn++
	}
	return pick, 0
}
