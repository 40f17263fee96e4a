package sched

import (
	"strings"
	"testing"

	"kpsim/sim"
)

// A hunt is a program with a bug, which occurs if certain steps come in a certain
// order.
type hunt struct {
	programs []string
	bug      func(order []step) bool
}

// step is a step: of which mover, and which of its own, from 0.
type step struct {
	mover sim.Mover
	n     int
}

// order returns the steps of the last run.
func (m *toy) order() (list []step) {
	var done [256]int
	for _, mv := range m.moved {
		list = append(list, step{mv, done[mv]})
		done[mv]++
	}
	return list
}

// before reports whether step a comes before step b.
func before(order []step, a, b step) bool {
	for _, s := range order {
		if s == a {
			return true
		}
		if s == b {
			return false
		}
	}
	return false
}

// found returns in how many of the runs the bug occurs, and the questions of the
// longest run.
func (h *hunt) found(s Strategy, runs int) (n int, k uint64) {
	m := &toy{programs: h.programs}
	for i := range uint64(runs) {
		if pct, ok := s.(*PCT); ok {
			pct.past.deeper = 0 // the theorem is about runs at Depth
		}
		s.Begin(i)
		m.run(s)
		k = max(k, m.p.Seq)
		if h.bug(m.order()) {
			n++
		}
	}
	return n, k
}

// Figure 5 of the paper: a bug of depth 1 behind twenty steps of the one thread,
// which must all come before the first of the other. A uniform choice at each
// step has it in one of 2^20 runs (10^6), so that 100 runs miss it with
// probability 99.99%: that is the control. A run of PCT has it if the priorities
// are the right ones of two: 20 runs miss it once in a million times.
func TestPCTFigure5(t *testing.T) {
	h := &hunt{[]string{strings.Repeat(".", 20), ".."}, func(o []step) bool {
		return before(o, step{0, 19}, step{1, 0})
	}}
	if n, _ := h.found(NewRandom(Params{Seed: 1, Length: 22}), 100); n > 0 {
		t.Errorf("control: a uniform choice found it %d times", n)
	}
	if n, _ := h.found(newPCT(Params{Seed: 1, Length: 22, Depth: 1}), 20); n == 0 {
		t.Error("PCT has missed a bug of depth 1 in 20 runs")
	}
}

// hunts are programs of n movers with a bug of each depth: d orderings of steps trigger
// it, and fewer don't.
var hunts = []hunt{
	// An ordering: something is used before it was made ready.
	{[]string{"......", ".......", "....."}, func(o []step) bool {
		return before(o, step{1, 6}, step{0, 0})
	}},
	// An atomicity violation: another mover's step falls between two of one mover.
	{[]string{"........", ".....", "....."}, func(o []step) bool {
		return before(o, step{0, 3}, step{1, 4}) && before(o, step{1, 4}, step{0, 4})
	}},
	// A step between two certain steps of another mover, where its own previous step
	// must have come early.
	{[]string{".....", "....", "..."}, func(o []step) bool {
		return before(o, step{1, 1}, step{0, 2}) && before(o, step{0, 3}, step{1, 3}) &&
			before(o, step{1, 3}, step{0, 4})
	}},
}

// TestPCTBound: a bug of depth d is found in at least 1/(n k^(d-1)) of the runs, k
// being the most questions of a run. Only the worst programs reach the bound: the
// measured rate is at least half as much again, so falling below it by chance would
// take five standard deviations. The depth of the programs is right, too: with one
// change point less the bug isn't found.
func TestPCTBound(t *testing.T) {
	const runs = 20_000 / min(slow, 4)
	for i := range hunts {
		h, d := &hunts[i], i+1
		_, k := h.found(NewRandom(Params{Length: 20}), 100)
		bound := runs / len(h.programs)
		for range d - 1 {
			bound /= int(k)
		}
		n, _ := h.found(newPCT(Params{Seed: 5, Length: k, Depth: d}), runs)
		t.Logf("depth %d, %d movers, %d questions: %d of %d runs, the bound is %d", d, len(h.programs), k, n, runs,
			bound)
		if n < bound {
			t.Errorf("depth %d: found in %d of %d runs; the bound is %d", d, n, runs, bound)
		}
		if d == 1 {
			continue
		}
		if n, _ := h.found(newPCT(Params{Seed: 5, Length: k, Depth: d - 1}), 2000); n > 0 {
			t.Errorf("a bug of depth %d was found %d times at depth %d", d, n, d-1)
		}
	}
}

// TestPCTInterrupts: an interrupt source is a mover with one step, and so is a pending
// IPI. Its coming between two certain steps is a bug of depth 2; with 2 movers and 13
// questions it is found in at least one of 26 runs.
func TestPCTInterrupts(t *testing.T) {
	m := &toy{programs: []string{strings.Repeat(".", 12)}, sources: []int{1}}
	s := newPCT(Params{Seed: 1, Length: 13, Depth: 2})
	var at [13]int
	const runs = 2600
	for i := range uint64(runs) {
		s.past.deeper = 0
		s.Begin(i)
		m.run(s)
		for k, mv := range m.moved {
			if mv == sim.MoverSource {
				at[k]++
			}
		}
	}
	for k, n := range at { // between step k and k+1; a third below the bound is 3.4 standard deviations
		if n < runs/26*2/3 {
			t.Errorf("the source fired %d times after %d steps; the bound is %d", n, k, runs/26)
		}
	}
}

// TestPCTAsksLittle: no question is asked between change points and changes of the set
// of moves.
func TestPCTAsksLittle(t *testing.T) {
	m := &toy{programs: []string{strings.Repeat(".", 100), strings.Repeat(".", 100)}}
	for i := range uint64(100) {
		s := newPCT(Params{Seed: i, Length: 200})
		s.Begin(0)
		m.run(s)
		if m.calls > 10 || len(m.asked) < 100 { // 2 change points, a start, a switch, and a hold or two at each
			t.Fatalf("run %d: %d calls for %d questions", i, m.calls, len(m.asked))
		}
	}
}

// TestArrivingAtOneBoundary: a bug that an interrupt at one certain boundary of 60
// triggers, if the other CPU is done before. Arriving finds it if the priorities are
// right (1/2), and the arrival is: one in 60 in half of the runs, and, since 6
// boundaries are before watched text, one in 6 in the other half. That is 1 in 22, and
// 150 runs miss it once in 1000 times. In a random walk the other CPU is done before
// the first one's first step once in 2^20 times.
func TestArrivingAtOneBoundary(t *testing.T) {
	m := &toy{programs: []string{strings.Repeat(".........w", 6), strings.Repeat(".", 20)}, sources: []int{1}}
	shape := &Shape{Questions: 80, Sources: []Source{{CPU: 0, Most: 1}}}
	shape.CPUs[0] = Stretch{60, 6}
	bug := func(s Strategy, runs int) bool {
		for i := range uint64(runs) {
			s.Begin(i)
			m.run(s)
			o := m.order()
			if before(o, step{1, 19}, step{0, 0}) && before(o, step{0, 38}, step{sim.MoverSource, 0}) &&
				before(o, step{sim.MoverSource, 0}, step{0, 39}) {
				return true
			}
		}
		return false
	}
	if bug(NewRandom(Params{Seed: 1, Shape: shape}), 150) {
		t.Error("control: random walk found it")
	}
	if !bug(NewArriving(Params{Seed: 1, Shape: shape}), 150) {
		t.Error("Arriving has missed it in 150 runs")
	}
	if !bug(newPCT(Params{Seed: 1, Shape: shape, Depth: 2}), 2*80*80) {
		t.Error("PCT has missed it: 3 movers, 80 questions, depth 2")
	}
}

// TestPrioritiesLowered: a lowered mover is below all others, at the place it was
// lowered to; if it was lowered twice, the last one counts.
func TestPrioritiesLowered(t *testing.T) {
	var s priorities
	r := new(sim.Rand)
	r.Seed(1, 1)
	s.begin(r)
	s.lower(0, 5)
	s.lower(1, 3)
	s.lower(0, 2)
	p := sim.Point{Kind: sim.Step, N: 3, Moves: sim.Moves{0b111}}
	for _, want := range []sim.Mover{2, 1, 0} {
		m := s.highest(&p, 0)
		if m != want {
			t.Fatalf("%d is the highest, want %d", m, want)
		}
		p.Moves[0] &^= 1 << m
	}
}
