package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/sim"
)

// A graph is the state space of a procs, found by plain search: each step of each mover
// from each state, or those that a number of deviations reach.
type graph struct {
	m       *procs
	bounded bool
	most    int
	found   *found
	visited map[string]int // 1: on the way; 2: left
	circle  bool
}

// A snapshot is the whole state of a procs.
type snapshot struct {
	mem, locks, left []int
	pending          []bool
	ps               []procState
}

func (m *procs) snapshot() snapshot {
	return snapshot{slices.Clone(m.mem), slices.Clone(m.locks), slices.Clone(m.left), slices.Clone(m.pending),
		slices.Clone(m.ps)}
}

func (m *procs) restore(s snapshot, first sim.Mover) {
	m.mem, m.locks, m.left = slices.Clone(s.mem), slices.Clone(s.locks), slices.Clone(s.left)
	m.pending, m.ps = slices.Clone(s.pending), slices.Clone(s.ps)
	m.ended, m.p = false, sim.Point{First: first}
}

// graph finds where a program can end with at most k deviations, or with any if k is
// -1, and whether it can go round in circles; not ok if there are too many states.
func (m *procs) graph(most, k int) (g *graph, ok bool) {
	g = &graph{m: m, bounded: k >= 0, most: most, found: newFound(), visited: make(map[string]int)}
	m.watch, m.chose = nil, nil
	m.reset()
	return g, g.visit(m.snapshot(), sim.NoMover, max(k, 0))
}

func (g *graph) visit(s snapshot, first sim.Mover, left int) (ok bool) {
	k := fmt.Sprint(s)
	if g.bounded {
		k += fmt.Sprint(first, left)
	}
	g.circle = g.circle || g.visited[k] == 1
	if g.visited[k] != 0 {
		return true
	}
	if len(g.visited) == g.most {
		return false
	}
	g.visited[k] = 1
	g.m.restore(s, first)
	g.m.look()
	p := g.m.p
	if p.N == 0 {
		g.found.states[g.m.state()] = true
	}
	for i := range p.N {
		mv := p.Mover(i)
		for e := new(everything); e.begin(); {
			g.m.restore(s, mv)
			g.m.chooser = e
			g.m.step(mv)
			n := left
			if g.bounded {
				n -= deviations(i, e)
			}
			if n < 0 {
				continue
			}
			next := mv
			if mv >= sim.MoverIPI {
				next = sim.NoMover
			}
			if g.m.ended {
				g.found.states[g.m.state()] = true
			} else if !g.visit(g.m.snapshot(), next, n) {
				return false
			}
		}
	}
	g.visited[k] = 2
	return true
}

// deviations counts those of a step: its mover, and the answers in it.
func deviations(pick int, e *everything) (n int) {
	for _, a := range append(e.list, answer{pick: uint16(pick)}) {
		if a.pick != 0 {
			n++
		}
	}
	return n
}

// TestStatesCircles: programs that may go round in circles end where they can, in each
// search, and each search reports circles if there are any: with any number of
// deviations, or with a bounded one.
func TestStatesCircles(t *testing.T) {
	gen := genProcs(func(op string) bool { return op != "ask" })
	var n draws
	check := func(t require.TestingT, m *procs, what string) (large, circle, both bool) {
		for k := -1; k <= 3; k++ {
			want, ok := m.graph(300, k)
			if !ok {
				return true, false, false
			}
			for _, sleep := range []bool{false, true} {
				got, s, ok := m.states(3000, func(s *States) {
					if k >= 0 {
						s.Bound(k, nil)
					} else if sleep {
						s.Sleep()
					}
				})
				require.True(t, ok && s.Complete(), what)
				require.Equal(t, verdicts(want.found), verdicts(got), "k %d, sleep %v: %s", k, sleep, what)
				require.Equal(t, want.circle, got.cut > 0, "k %d, sleep %v: %s", k, sleep, what)
				require.LessOrEqual(t, s.Stats().Circles, uint64(got.cut), "k %d, sleep %v: %s", k, sleep, what)
			}
			circle = circle || want.circle
			both = both || want.circle && len(want.found.states) > 0
		}
		return false, circle, both
	}
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		m.most = 300
		n.drawn++
		if large, _, _ := check(t, m, what); large {
			n.large++
			t.Skip("too many states")
		}
	})
	n.check(t)

	// The two kinds that the claims are about, however few of them were drawn.
	_, circle, both := check(t, eachWaits(), "each goes round while the other is inside")
	require.True(t, circle && both)
	forever := randomProcs([][]instr{{{"again", 0, 0}}, {{"write", 1, 1}}}, nil)
	forever.most = 300
	_, circle, both = check(t, forever, "one goes round forever")
	require.True(t, circle && !both)
}

// eachWaits is two processes that end if one runs after the other, and go round in circles
// if both are inside.
func eachWaits() *procs {
	m := randomProcs([][]instr{{{"write", 0, 1}, {"again", 1, 1}, {"write", 0, 0}},
		{{"write", 1, 1}, {"again", 0, 1}, {"write", 1, 0}}}, nil)
	m.most = 300
	return m
}

// TestBoundCircle: a circle without questions is cut off, and so is one that is reached
// by the last deviation.
func TestBoundCircle(t *testing.T) {
	for k := range 3 {
		got, s, ok := eachWaits().states(3000, func(s *States) { s.Bound(k, nil) })
		require.True(t, ok && s.Complete())
		require.Equal(t, k > 0, s.Stats().Circles > 0, "%d deviations", k)
		require.EqualValues(t, s.Stats().Circles, got.cut)
	}
}
