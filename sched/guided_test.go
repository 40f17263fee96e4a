package sched

import (
	"slices"
	"testing"

	"kpsim/sim"
)

// A ladder is a machine with a bug at the end of a chain. CPU 0 makes its steps. CPU 1
// climbs: it has to make its k-th step when CPU 0 stands at exactly one place, else it
// falls and is out. After a step on the ladder it waits until CPU 0 has moved. Each
// rung shows: CPU 1 writes what CPU 0 reads next.
type ladder struct {
	length int
	rungs  []int
}

// climbed runs it under s, already begun, and returns how many rungs it reached.
func (m *ladder) climbed(s Strategy) (rung int) {
	observer := ObserverOf(s)
	p := sim.Point{Kind: sim.Step, Watched: false}
	var touched [1]sim.Touch
	pos, stood, hold := 0, -1, 0
	out := false
	var held sim.Moves
	last := sim.Mover(0)
	for pos < m.length {
		moves := uint64(1)
		if !out && stood != pos {
			moves |= 2
		}
		p.Moves[0], p.First, p.N = moves, last, 1
		if moves&2 == 0 {
			p.First = 0
		} else {
			p.N = 2
		}
		if p.Moves != held {
			hold = 0
		}
		held = p.Moves
		mv := p.First
		if p.N > 1 {
			if hold > 0 {
				hold--
			} else {
				var pick int
				pick, hold = s.Choose(&p)
				hold &= sim.Forever
				mv = p.Mover(pick)
			}
			p.Seq++
		}
		if last = mv; mv == 0 {
			touched[0] = sim.Touch{Object: sim.Object(100 + rung)}
			pos++
		} else if rung < len(m.rungs) && m.rungs[rung] == pos {
			rung++
			stood = pos
			last = 0
			touched[0] = sim.Touch{Object: sim.Object(100 + rung), Write: true}
		} else {
			out = true
			last = 0
			touched[0] = sim.Touch{Object: 99, Write: true}
		}
		if observer != nil {
			observer.Stepped(mv, touched[:])
		}
	}
	s.End(p.Seq)
	return rung
}

// runs returns how many runs it takes to reach the last rung, most if more.
func (m *ladder) runs(s Strategy, most int) int {
	for i := range most {
		s.Begin(uint64(i))
		if m.climbed(s) == len(m.rungs) {
			return i + 1
		}
	}
	return most
}

// TestGuidedClimbs: four rungs among 60 places. A walk must leave CPU 0 at four certain
// places and at no other before. With a switch in n boundaries that has probability
// n^-4 (1-1/n)^45, at its best (n = 12) one in a million runs; the uniform walk has one
// in 2^45. Guided gets there rung by rung, and each rung takes one more deviation at
// one certain place: some thousands of runs in all.
func TestGuidedClimbs(t *testing.T) {
	m := &ladder{60, []int{9, 20, 33, 45}}
	const most = 40_000
	search := func(mk func(Params) Strategy) (runs []int) {
		for seed := range uint64(5) {
			runs = append(runs, m.runs(mk(Params{Seed: seed, Length: 60}), most))
		}
		slices.Sort(runs)
		t.Logf("%v: %v", mk(Params{}), runs)
		return runs
	}
	if runs := search(func(p Params) Strategy { return newGuided(p) }); runs[2] > most/4 {
		t.Errorf("half of the searches take more than %d runs: %v", most/4, runs)
	}
	for _, control := range []func(Params) Strategy{
		func(p Params) Strategy { return NewRandom(p) },
		func(p Params) Strategy { return NewSticky(p) },
		func(p Params) Strategy { p.Mean = 12; return NewSticky(p) },
	} {
		if runs := search(control); runs[2] < most {
			t.Errorf("control: half of the searches reach the end: %v", runs)
		}
	}
}

// TestGuidedKeeps: a run that shows nothing new isn't kept, and one that does is
// mutated.
func TestGuidedKeeps(t *testing.T) {
	m := toys()[1]
	s := newGuided(Params{Seed: 1, Length: 10})
	kept := 0
	for i := range uint64(2000) {
		s.Begin(i)
		m.run(s)
		if i == 1000 {
			kept = len(s.kept)
		}
	}
	if kept < 3 || len(s.kept) > kept+kept/2 {
		t.Errorf("%d runs of 1000 were kept, %d of 2000: what is new is to become rare", kept, len(s.kept))
	}
}

// TestGuidedWatches: the steps of all runs are observed if Learn gets nothing, else
// those of one run in watchEvery.
func TestGuidedWatches(t *testing.T) {
	for _, test := range []struct{ features, want int }{{0, 32 * watchEvery}, {1, 32}} {
		const shards = 3
		s := newGuided(Params{Seed: 1, Length: 10, Shards: shards})
		watched := 0
		for i := range uint64(32 * watchEvery) {
			s.Begin(shards * i)
			if ObserverOf(s) != nil {
				watched++
			}
			s.Learn(make([]uint64, test.features))
			s.End(0)
		}
		if watched != test.want {
			t.Errorf("%d features a run: the steps of %d runs are looked at, want %d", test.features, watched,
				test.want)
		}
	}
}

// TestGuidedPairs: a pair is two movers that touched an object one after the other: a
// read or a write after another's write, a write after another's reads since then; each
// counts the first, second, fourth time that the object changes hands.
func TestGuidedPairs(t *testing.T) {
	var h pairs
	for i, step := range []struct {
		mv    sim.Mover
		write bool
		is    bool
	}{
		{0, false, false}, {1, false, false}, // two reads
		{0, true, true}, {0, true, false}, // behind 1's read; behind its own
		{0, false, false}, {1, false, true}, // 1 reads what 0 wrote: the second time
		{1, true, false}, {1, true, false}, // the third
		{0, true, true}, // the fourth
	} {
		f := h.touch(step.mv, sim.Touch{Object: 7, Write: step.write})
		if f != 0 != step.is {
			t.Errorf("step %d, %+v: feature %#x", i, step, f)
		}
	}
	h.clear()
	if h.touch(1, sim.Touch{Object: 7}) != 0 {
		t.Error("what was touched in another run counts")
	}
}

// When there is no room left, the oldest kept run is replaced.
func TestGuidedForgetsTheOldest(t *testing.T) {
	s := newGuided(Params{Seed: 1, Length: 9})
	for i := range uint64(keptMost + 3) {
		s.Begin(i)
		s.done.steps = append(s.done.steps[:0], spot{at: i, pick: 1})
		s.showed = true
		s.End(0)
	}
	for i, want := range []uint64{keptMost, keptMost + 1, keptMost + 2, 3, 4} {
		if l := s.kept[i].steps; len(l) != 1 || l[0].at != want {
			t.Errorf("place %d holds %v, want run %d", i, l, want)
		}
	}
}

// A load that goes past a store that its CPU holds is another feature than the same load
// after the store has taken effect, and so is a store that takes effect late.
func TestGuidedLate(t *testing.T) {
	const drain = sim.MoverDrain
	read, write := []sim.Touch{{Object: 5}}, []sim.Touch{{Object: 5, Write: true}}
	news := func(holding uint64, order ...sim.Mover) (n int) {
		s := newGuided(Params{Length: 10})
		for _, holding := range []uint64{0, holding} {
			s.Begin(s.next)
			s.showed = false
			for i, mv := range order {
				if s.holding = 0; i == len(order)-1 {
					s.holding = holding
				}
				if mv >= drain || mv == 1 {
					s.Stepped(mv, write)
				} else {
					s.Stepped(mv, read)
				}
			}
			n += b2i(s.showed)
			s.End(0)
		}
		return n
	}
	if got := news(0, 1, 0); got != 1 {
		t.Errorf("the same run twice shows something new %d times", got)
	}
	if got := news(1, 1, 0); got != 2 {
		t.Errorf("a load past a held store is no feature: %d", got)
	}
	if got := news(2, 1, 0, drain+1); got != 2 {
		t.Errorf("a store that takes effect late is no feature: %d", got)
	}
	if got := news(2, 0, 1, drain+1); got != 1 {
		t.Errorf("a store that takes effect at once is a feature of its own: %d", got)
	}
}
