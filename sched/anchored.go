package sched

import (
	"slices"

	"kpsim/sim"
	"kpsim/traces"
)

// Anchored replays anchors, by label and occurrence. It never panics: where the program has changed since they were
// recorded it follows them as closely as it can, and reports where it drifted.
//
// An anchor matches the one question of a run that has its mover, place, kind and occurrence, whatever happened to
// the anchors before it. Its alternative is taken there, or 0 if it doesn't exist. In the program that recorded them
// this gives the recorded run.
//
// Run 0 takes the anchors literally. Each further run moves one more of those that never matched, the first in order,
// to the nearest other place in the same function that its mover reached as often; so one instruction more or less
// doesn't lose a schedule. Begin returns false if none can be moved. The caller goes on until a run shows what it
// looks for.
type Anchored struct {
	anchors []traces.Deviation
	state   []anchorState
	left    int // neither matched nor given up in this run
	next    uint64
	places  places
	due     [][]int // by place: the anchors there that are still to come
}

type anchorState struct {
	off   int // the offset where it is looked for
	moved bool
	met   bool
	noAlt bool
	alts  []string // if noAlt: the alternatives there
}

// NewAnchored returns a strategy of 1 to len(anchors)+1 runs.
func NewAnchored(anchors []traces.Deviation, l Locator) *Anchored {
	return &Anchored{anchors: anchors, state: make([]anchorState, len(anchors)), places: places{loc: l}}
}

// DriftKind says how a run departed from an anchor.
type DriftKind uint8

// The kinds of drift.
const (
	Unmet         DriftKind = iota // its mover wasn't there often enough
	NoAlternative                  // its mover was there, but without that alternative: 0 was taken
	Moved                          // it was taken at another place of the function
)

var driftNames = [...]string{"unmet", "no such alternative", "moved"}

func (k DriftKind) String() string { return driftNames[k] }

// A Drift is one anchor that was not taken literally.
type Drift struct {
	Index int // the anchor's
	Kind  DriftKind
	Off   int // where it was expected
	Times int // how many questions about its mover were asked there
}

// Drifts returns how the last run drifted from the anchors, in their order; nothing if
// it followed all of them.
func (a *Anchored) Drifts() []Drift {
	var list []Drift
	for i := range a.state {
		s := &a.state[i]
		d := Drift{Index: i, Off: s.off, Times: a.times(i, s.off)}
		switch {
		case !s.met:
			d.Kind = Unmet
		case s.noAlt:
			d.Kind = NoAlternative
		case s.moved:
			d.Kind = Moved
		default:
			continue
		}
		list = append(list, d)
	}
	return list
}

// A Miss is the first anchor that a run didn't take literally, and the alternatives at that point.
type Miss struct {
	Drift
	// other places of its mover in that function or routine, the nearest first; or otherwise other movers at the
	// place
	Near []Near
	Alts []string // NoAlternative: the alternatives there
}

// A Near is a place that the run reached, and how often.
type Near struct {
	Mover, Name string
	Off         int
	Text        bool
	Times       int
}

// nearMost is how many places a Miss names.
const nearMost = 4

// FirstMiss returns the first drift of the last run, in the order of the anchors.
func (a *Anchored) FirstMiss() (m Miss, ok bool) {
	drifts := a.Drifts()
	if len(drifts) == 0 {
		return m, false
	}
	m.Drift = drifts[0]
	m.Alts = a.state[m.Index].alts
	c := &a.anchors[m.Index]
	for _, others := range []bool{false, true} {
		for k := range a.places.list {
			at := &a.places.list[k]
			if at.kind == c.Kind && at.name == c.Name && at.text == c.Text && (at.mover == c.Mover) != others {
				m.Near = append(m.Near, Near{at.mover, at.name, at.off, at.text, at.times})
			}
		}
		if len(m.Near) > 0 {
			break
		}
	}
	slices.SortStableFunc(m.Near, func(x, y Near) int { return distance(x.Off, m.Off) - distance(y.Off, m.Off) })
	m.Near = m.Near[:min(len(m.Near), nearMost)]
	return m, true
}

// Places returns the names of the places that the last run reached, in order, as long as an anchor was left to match.
func (a *Anchored) Places() (names []string) {
	for k := range a.places.list {
		if name := a.places.list[k].name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *Anchored) String() string { return "anchored replay" }

// Begin implements Strategy. Run 0 resets all anchors.
func (a *Anchored) Begin(i uint64) bool {
	switch {
	case i == 0:
		for k := range a.state {
			a.state[k] = anchorState{off: a.anchors[k].Off}
		}
	case i != a.next || !a.relax():
		return false
	}
	a.next = i + 1
	a.places.reset()
	a.left = len(a.anchors)
	for k := range a.state {
		a.state[k].met, a.state[k].noAlt = false, false
	}
	return true
}

// End implements Strategy.
func (a *Anchored) End(uint64) {}

// Choose implements sim.Chooser.
func (a *Anchored) Choose(p *sim.Point) (pick, hold int) {
	if a.left == 0 {
		return 0, holdStep(p, forever)
	}
	at := a.places.visit(p)
	if at.times == 1 {
		a.gather(at)
	}
	due := &a.due[a.places.last]
	for len(*due) > 0 && a.anchors[(*due)[0]].Occ < at.times {
		*due = (*due)[1:]
	}
	if len(*due) == 0 || a.anchors[(*due)[0]].Occ != at.times {
		return 0, 0
	}
	i := (*due)[0]
	a.state[i].met = true
	a.left--
	return a.alternative(p, i), 0
}

// gather finds the anchors at a place that is reached for the first time, by occurrence:
// a run that goes round in circles has tens of thousands of them.
func (a *Anchored) gather(at *place) {
	var due []int
	for i := range a.anchors {
		if a.near(i, at) && a.state[i].off == at.off {
			due = append(due, i)
		}
	}
	slices.SortStableFunc(due, func(i, j int) int { return a.anchors[i].Occ - a.anchors[j].Occ })
	a.due = append(a.due[:a.places.last], due)
}

// near reports whether anchor i is at this place, the offset aside.
func (a *Anchored) near(i int, at *place) bool {
	c := &a.anchors[i]
	return c.Kind == at.kind && c.Text == at.text && c.Name == at.name && c.Mover == at.mover
}

// alternative returns the answer of anchor i.
func (a *Anchored) alternative(p *sim.Point, i int) int {
	for k := range p.N {
		if a.places.loc.Alternative(p, k) == a.anchors[i].Alt {
			return k
		}
	}
	s := &a.state[i]
	s.noAlt, s.alts = true, nil
	for k := range p.N {
		s.alts = append(s.alts, a.places.loc.Alternative(p, k))
	}
	return 0
}

// times returns how often the mover of anchor i was at that offset.
func (a *Anchored) times(i, off int) int {
	for k := range a.places.list {
		if at := &a.places.list[k]; at.off == off && a.near(i, at) {
			return at.times
		}
	}
	return 0
}

// relax moves one more anchor that never matched, if there is one.
func (a *Anchored) relax() bool {
	for i := range a.anchors {
		if s := &a.state[i]; !s.met && !s.moved {
			if off, ok := a.nearest(i); ok {
				s.off, s.moved = off, true
				return true
			}
		}
	}
	return false
}

// nearest returns the offset that anchor i can move to.
func (a *Anchored) nearest(i int) (best int, ok bool) {
	c := &a.anchors[i]
	for k := range a.places.list {
		at := &a.places.list[k]
		if at.times < c.Occ || c.Occ < 1 || !a.near(i, at) || a.taken(i, at) {
			continue
		}
		if d, b := distance(at.off, c.Off), distance(best, c.Off); !ok || d < b || d == b && at.off < best {
			best, ok = at.off, true
		}
	}
	return best, ok
}

// taken reports whether another anchor uses the place that anchor i could move to.
func (a *Anchored) taken(i int, at *place) bool {
	for k := range a.anchors {
		if k != i && a.near(k, at) && a.state[k].off == at.off && a.anchors[k].Occ == a.anchors[i].Occ {
			return true
		}
	}
	return false
}

func distance(a, b int) int { return max(a, b) - min(a, b) }
