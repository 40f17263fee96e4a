package sched

import (
	"testing"

	"pgregory.net/rapid"

	"kpsim/sim"
)

// Bounded comes to the final states of all schedules of so few deviations,
// those in the midst of private steps included.
func TestBoundedComplete(t *testing.T) {
	gen := genProcs(func(op string) bool { return op != "assert" })
	pruned, plain := uint64(0), uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		m, what := gen.Draw(t, "m")()
		k := rapid.IntRange(0, 3).Draw(t, "k")
		want := make(map[string]bool)
		m.watch, m.chose = nil, nil
		d := NewDeviations(Params{Most: max(k, 1)})
		for i := uint64(0); d.Begin(i); i++ {
			if i > 20_000 {
				t.Skip("too many schedules")
			}
			state := m.run(d)
			if i == 0 || k > 0 {
				want[state] = true
			}
			d.End(m.p.Seq)
		}
		b := NewBounded(k, nil)
		m.watch = []sim.Observer{b}
		got := make(map[string]bool)
		for i := uint64(0); b.Begin(i); i++ {
			got[m.run(b)] = true
			b.End(m.p.Seq)
		}
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
		if s := b.Stats(); !b.Complete() || s.Done != k || b.Progress() != 1_000_000 {
			t.Errorf("%s: not complete: %+v", what, s)
		}
		pruned, plain = pruned+b.Stats().Runs, plain+d.Count()
	})
	if pruned*4 > plain*3 { // though each level is run for itself
		t.Errorf("%d runs, %d without pruning: that is no reduction", pruned, plain)
	}
}

// The deviations of a run are those it was to have: the last level of k of a
// program without conflicts is one run a level.
func TestBoundedRestart(t *testing.T) {
	m := lastzero(4)
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
	if a, b := count(NewBounded(2, nil), 1<<60), count(NewBounded(2, nil), 40); a != b || a < 10 {
		t.Errorf("%d runs, %d after a restart", a, b)
	}
}
