package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/sim"
)

// A heldWrite is one that others don't see yet.
type heldWrite struct{ v, to int }

// mostHeld is how many writes a process holds at most: few, so that programs that are
// drawn come to hold more.
const mostHeld = 2

// The objects of what processes hold.
const (
	objHolds = 5 << 8 // whether a process holds anything
	objHeld  = 6 << 8 // what it holds of a variable, to its reads
	objPlace = 7 << 8 // a place for a write
)

func objHeldVar(id, v int) int   { return objHeld + id<<4 + v }
func objPlaceOf(id, nth int) int { return objPlace + id<<4 + nth%mostHeld }

// begin asks whether writes are held.
func (m *procs) begin(ch sim.Chooser) {
	m.p.Kind, m.p.N, m.p.First = sim.Buffer, 2, 0
	switch ch.(type) {
	case *Full, *States:
		if pick, _ := ch.Choose(&m.p); pick == 0 {
			panic("a search of all schedules doesn't hold writes")
		}
	}
	m.p.First = sim.NoMover
	m.p.Seq++
}

// ownWrite returns what a process holds of a variable.
func (x *procX) ownWrite(v int) (to int, ok bool) {
	for _, w := range x.m.held[x.id] {
		if w.v == v {
			to, ok = w.to, true
		}
	}
	if ok {
		x.m.touch(objHeldVar(x.id, v), false)
	}
	return to, ok
}

// hold is a write that is held.
func (x *procX) hold(v, to int) {
	m := x.m
	if len(m.held[x.id]) == mostHeld {
		m.drain(x.id)
	}
	m.touch(objPlaceOf(x.id, m.wrote[x.id]), true)
	m.held[x.id] = append(m.held[x.id], heldWrite{v, to})
	m.wrote[x.id]++
}

// drain makes the oldest one take effect.
func (m *procs) drain(id int) {
	w := m.held[id][0]
	m.touch(objHolds+id, true)
	m.touch(objPlaceOf(id, m.wrote[id]-len(m.held[id])), true)
	m.touch(objHeldVar(id, w.v), true)
	m.touch(objVar+w.v, true)
	m.held[id] = append([]heldWrite(nil), m.held[id][1:]...)
	m.mem[w.v] = w.to
}

// flush makes all take effect.
func (m *procs) flush(id int) {
	if !m.tso {
		return
	}
	m.touch(objHolds+id, false)
	for len(m.held[id]) > 0 {
		m.drain(id)
	}
}

// holding is genProcs of processes that hold what they write.
func holding(only func(op string) bool) *rapid.Generator[func() (*procs, string)] {
	gen := genProcsOf(only, 3)
	return rapid.Custom(func(t *rapid.T) func() (*procs, string) {
		m := gen.Draw(t, "m")
		return func() (*procs, string) {
			p, what := m()
			p.tso = true
			return p, "held: " + what
		}
	})
}

// No class is missing of programs that hold what they write and neither wait nor choose.
func TestFullHolding(t *testing.T) {
	gen := holding(func(op string) bool {
		switch op {
		case "private", "read", "write", "copy", "cas", "skip", "fence":
			return true
		}
		return false
	})
	var n draws
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		compare(t, &n, m, what, false)
	})
	n.check(t)
}

// Nor is one with locks, waits, answers, interrupts and findings.
func TestFullHoldingComplete(t *testing.T) {
	gen := holding(func(op string) bool { return op != "again" })
	var n draws
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		compare(t, &n, m, what, false)
	})
	n.check(t)
}

// Nor does a search of states miss an end, with and without Sleep.
func TestStatesHolding(t *testing.T) {
	gen := holding(func(op string) bool { return op != "again" })
	var n draws
	runs, asleep := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		want, ok := m.all(6000)
		if n.drawn++; !ok {
			n.large++
			t.Skip("too many schedules")
		}
		for _, how := range []func(*States){counted, (*States).Sleep} {
			got, s, ok := m.states(6000, how)
			if !ok || !s.Complete() {
				t.Fatalf("%s: not complete after %d runs, there are %d", what, got.runs, want.runs)
			}
			require.Equal(t, verdicts(want), verdicts(got), "%s", what)
			if asleep += got.runs; !s.sleeps {
				runs, asleep = runs+got.runs, asleep-got.runs
			}
		}
	})
	n.check(t)
	t.Logf("%d runs, %d where movers sleep", runs, asleep)
}
