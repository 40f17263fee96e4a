package sched

import (
	"testing"

	"pgregory.net/rapid"

	"kpsim/sim"
)

// TestBoundedComplete: Bounded and Bound reach the final states of all schedules with that many
// deviations, including deviations within private steps.
func TestBoundedComplete(t *testing.T) {
	gen := genProcs(func(op string) bool { return op != "assert" && op != "again" })
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		boundedComplete(t, m, what, rapid.IntRange(0, 3).Draw(t, "k"))
	})
}

// A program whose end differs if two prefixes of one class with different movers next
// are taken for one; few drawn programs do.
func TestBoundedWhoGoesOn(t *testing.T) {
	m := randomProcs([][]instr{{{"write", 0, 1}}, {{"send", 0, 0}, {"read", 0, 1}},
		{{"skip", 0, 0}, {"private", 0, 0}, {"write", 0, 2}}}, nil)
	boundedComplete(t, m, "who goes on", 3)
}

func boundedComplete(t rapid.TB, m *procs, what string, k int) {
	want := make(map[string]bool)
	m.watch, m.chose = nil, nil
	d := NewDeviations(Params{Most: max(k, 1)})
	for i := uint64(0); d.Begin(i); i++ {
		state := m.run(d)
		if i == 0 || k > 0 {
			want[state] = true
		}
		d.End(m.p.Seq)
	}
	got := make(map[string]bool)
	for share := range uint64(2) {
		b := NewBounded(k, share, 2, nil)
		m.watch = []sim.Observer{b}
		for i := uint64(0); b.Begin(i); i++ {
			if state := m.run(b); state != "" {
				got[state] = true
			}
			b.End(m.p.Seq)
		}
		if !b.Complete() || b.Progress() != 1_000_000 {
			t.Errorf("%s: not complete: %+v", what, b.Stats())
		}
	}
	same(t, what, k, want, got)
	bound, s, ok := m.states(100_000, func(s *States) { s.Bound(k, nil) })
	if !ok || !s.Complete() || s.Progress() != 1_000_000 {
		t.Errorf("%s: not complete: %+v", what, s.Stats())
	}
	same(t, what+", by states", k, want, bound.states)
}

func same(t rapid.TB, what string, k int, want, got map[string]bool) {
	for s := range want {
		if !got[s] {
			t.Errorf("%s: never ended as %s with %d deviations", what, s, k)
		}
	}
	for s := range got {
		if !want[s] {
			t.Errorf("%s: ended as %s, which needs more than %d deviations", what, s, k)
		}
	}
}

// Most runs are pruned, and a restarted search is a new one.
func TestBoundedPrunes(t *testing.T) {
	n := 8
	if slow > 1 {
		n = 7
	}
	m := lastzero(n)
	count := func(b *Bounded, restart uint64) uint64 {
		m.watch, m.chose = []sim.Observer{b}, nil
		for i := uint64(0); b.Begin(i); i++ {
			m.run(b)
			b.End(m.p.Seq)
			if i == restart {
				b.Restart()
			}
		}
		return b.Stats().Runs
	}
	a, b := count(NewBounded(3, 0, 1, nil), 1<<60), count(NewBounded(3, 0, 1, nil), 40)
	if a != b {
		t.Errorf("%d runs, %d after a restart", a, b)
	}
	m.watch = nil
	d := NewDeviations(Params{Most: 3})
	for i := uint64(0); d.Begin(i); i++ {
		m.run(d)
		d.End(m.p.Seq)
	}
	if a*2 > d.Count() || a < 10 {
		t.Errorf("%d runs, %d without pruning", a, d.Count())
	}
}
