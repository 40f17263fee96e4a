package sched

import (
	"fmt"

	"kpsim/sim"
)

// An Anchor is a deviation that outlives a change of the program: it says in
// the program's words where it is and what was done there.
type Anchor struct {
	Mover string   // who would have moved: "cpu1"
	Name  string   // where it stands: a symbol or a routine
	Off   int      // and how far in: bytes, or the step of a routine
	Text  bool     // Name is a symbol of guest text
	Occ   int      // the how-many-th question of this Kind at which this mover stands there, from 1
	Kind  sim.Kind // of question
	Alt   string   // the alternative that was taken
}

// A Locator knows the names of things. The machine provides it.
type Locator interface {
	// Where returns where a mover stands, as in Anchor.
	Where(m sim.Mover) (name string, off int, text bool)

	// Alternative names alternative pick of the question. Names differ within
	// a question, and alternative 0 of a Step is the name of the mover.
	Alternative(p *sim.Point, pick int) string
}

// A place is somewhere a mover was asked about.
type place struct {
	mover string
	name  string
	off   int
	text  bool
	kind  sim.Kind
	times int
}

// places counts how often each mover was where.
type places struct {
	loc   Locator
	index map[placeKey]int
	list  []place // in the order they were first come to
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
}

// visit counts the question, and returns its place.
func (ps *places) visit(p *sim.Point) *place {
	name, off, text := ps.loc.Where(p.First)
	k := placeKey{p.First, p.Kind, text, off, name}
	i, ok := ps.index[k]
	if !ok {
		i = len(ps.list)
		ps.index[k] = i
		ps.list = append(ps.list, place{ps.moverName(p), name, off, text, p.Kind, 0})
	}
	ps.list[i].times++
	return &ps.list[i]
}

func (ps *places) moverName(p *sim.Point) string {
	if p.Kind == sim.Step {
		return ps.loc.Alternative(p, 0)
	}
	return fmt.Sprintf("cpu%d", p.First)
}

// Labeller writes the deviations of a strategy down as anchors. It asks the
// strategy each question, so it belongs around a replay, not in a search.
type Labeller struct {
	Strategy
	places  places
	anchors []Anchor
}

// NewLabeller returns a Labeller around s.
func NewLabeller(s Strategy, l Locator) *Labeller {
	return &Labeller{Strategy: s, places: places{loc: l}}
}

// Anchors returns the deviations of the run that ended last. It is valid until
// Begin.
func (l *Labeller) Anchors() []Anchor { return l.anchors }

// Begin implements Strategy.
func (l *Labeller) Begin(i uint64) bool {
	l.places.reset()
	l.anchors = l.anchors[:0]
	return l.Strategy.Begin(i)
}

// Choose implements sim.Chooser.
func (l *Labeller) Choose(p *sim.Point) (pick, hold int) {
	at := l.places.visit(p)
	pick, _ = l.Strategy.Choose(p)
	if pick != 0 {
		l.anchors = append(l.anchors, Anchor{at.mover, at.name, at.off, at.text, at.times, p.Kind, l.places.loc.Alternative(p, pick)})
	}
	return pick, 0
}
