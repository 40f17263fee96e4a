package shrink

import (
	"flag"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// candidates is how many violating runs the one to shrink is taken from. An exploration
// takes it from all of its runs.
const candidates = 4

// violating returns the shortest of a strategy's first runs that break a property, nil if
// none of so many does.
func violating(t *testing.T, o Origin, strategy string, runs uint64) *Found {
	rig, err := rig.New(o.Scenario, o.Mutant)
	require.NoError(t, err)
	defer rig.Close()
	s, err := sched.New(strategy, sched.Params{Seed: o.Seed, Length: rig.Run(new(sched.Default)).Counts.Points})
	require.NoError(t, err)
	rec := &sched.Recorder{Strategy: s}
	var best *Found
	for i, n := uint64(0), 0; i < runs && n < candidates && rec.Begin(i); i++ {
		run := rig.Run(rec)
		rec.End(run.Counts.Points)
		if run.Property == nil {
			continue
		}
		n++
		if f := NewFound(i, &run, run.Property, &run.Finding, 0, rec); best == nil || f.Better(best) {
			best = f
		}
	}
	return best
}

// broken lists everything built in that breaks a property. Its seed, by which a
// strategy is chosen too, stays what it is when more is built in.
func broken(t *testing.T) (list []Origin) {
	add := func(name, mutant string, seed uint64) {
		sc, err := library.Load(name)
		require.NoError(t, err)
		list = append(list, Origin{Scenario: sc, Mutant: mutant, Seed: seed})
	}
	for _, sc := range library.All() {
		if sc.Expect.Sometimes {
			h := fnv.New32a()
			h.Write([]byte(sc.Name))
			add(sc.Name, "", uint64(h.Sum32()))
		}
	}
	for i := range mutants.All {
		add(mutants.All[i].Scenario, mutants.All[i].Name, uint64(i))
	}
	return list
}

var shrinks = flag.Bool("shrinks", false, "shrink whatever is built in and broken, not a part of it")

// mutantsFrom is which strategy the first mutant is run with.
const mutantsFrom = 8

// triedFrom is which of them are tried, unless all are. It goes by their seeds, so that they stay the same when more is
// built in.
const triedFrom = 3

// TestShrinkAny: a violating run of anything built in, of any strategy, shrinks in
// fewer than 2000 runs to at most six deviations, but for one in fifteen, in which
// many CPUs take turns; without any one of them the cause is lost; the trace
// replays, and shrinking it again changes nothing. A twentyfourth of what is built in
// is tried, a sixth if the tests are thorough, all with -shrinks.
func TestShrinkAny(t *testing.T) {
	var strategies []string
	for _, s := range sched.All {
		if s.Name != "overtake" { // so that each keeps the strategy that it had before
			strategies = append(strategies, s.Name)
		}
	}
	var found, long atomic.Int64
	t.Run("each", func(t *testing.T) { shrinkEach(t, strategies, &found, &long) })
	t.Logf("%d shrunk, %d of them to more than 6 deviations", found.Load(), long.Load())
	if searchtest.Slow == 1 {
		require.Greater(t, found.Load(), int64(thorough.Of(2, 10)))
	}
	of := max(found.Load(), 15)
	if !*shrinks {
		of = max(of, 45) // the few of all may be of one day
	}
	require.LessOrEqual(t, 15*long.Load(), of)
}

func shrinkEach(t *testing.T, strategies []string, found, long *atomic.Int64) {
	for _, spec := range broken(t) {
		if (spec.Seed+triedFrom)%thorough.Of[uint64](24, 6) > 0 && (searchtest.Slow > 1 || !*shrinks) {
			continue
		}
		t.Run(spec.Scenario.Name+" "+spec.Mutant, func(t *testing.T) {
			t.Parallel()
			c := violating(t, spec, strategies[(spec.Seed+mutantsFrom)%uint64(len(strategies))], 20_000/searchtest.Slow)
			if c == nil {
				c = violating(t, spec, "portfolio", 20_000/searchtest.Slow)
			}
			if c == nil {
				return // some need longer
			}
			found.Add(1)
			e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
			s, err := newShrinker(spec, c, e)
			require.NoError(t, err)
			defer func() { s.close() }()
			s.finish()
			require.Less(t, e.spent, 2000)
			if n := len(s.cur.anchors); n > 6 {
				long.Add(1)
				require.LessOrEqual(t, n, 24, "%+v", s.cur.anchors)
			}
			require.Equal(t, c.Property, s.cur.run.Property.Name)
			w := s.witness(spec, c)

			e.runs = 100
			for i := range s.cur.anchors {
				a := s.play(s.rig, s.ear, s.anchored(slices.Delete(slices.Clone(s.cur.anchors), i, i+1)))
				require.False(t, s.same(&a, s.ear), "deviation %d isn't needed", i)
			}

			data := w.File.Marshal()
			f, err := traces.Parse("shrunk.kps", data)
			require.NoError(t, err)
			r, err := replay.Play("shrunk.kps", f, false)
			require.NoError(t, err)
			require.True(t, r.Same, r.Why)
			require.Empty(t, r.Drifts)
			r.Rig.Close()

			again, r, err := File("shrunk.kps", f, nil)
			require.NoError(t, err)
			r.Rig.Close()
			if e.spent < shrinkRuns && !again.Exhausted {
				require.Equal(t, string(data), string(again.File.Marshal()))
			}
		})
	}
}

// TestNeeds: a violation that no interrupt is needed for is shrunk without one,
// unless the scenario says that it is to keep its own.
func TestNeeds(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	sc.Sources = append(sc.Sources, scenario.Source{Kind: scenario.SourceTimer, CPU: 1, AtMost: 1})
	var c *Found
	for seed := uint64(0); c == nil || !throughInterrupt(asFound(t, sc, c)); seed++ {
		require.Less(t, seed, uint64(100))
		c = violating(t, Origin{Scenario: sc, Seed: seed}, "random", 10_000)
	}
	for _, needs := range []scenario.Needs{scenario.NeedsNothing, scenario.NeedsInterrupt} {
		x := *sc
		x.Needs = needs
		w, err := shrink(Origin{Scenario: &x}, c, &effort{runs: shrinkRuns, questions: shrinkQuestions})
		require.NoError(t, err)
		require.Equal(t, needs == scenario.NeedsInterrupt, throughInterrupt(w.Schedule), "%v: %v", needs, w.Schedule)
	}
}

// asFound are the deviations of a run that wasn't shrunk.
func asFound(t *testing.T, sc *scenario.Scenario, c *Found) []traces.Deviation {
	s, err := newShrinker(Origin{Scenario: sc}, c, &effort{})
	require.NoError(t, err)
	defer s.close()
	return s.cur.anchors
}

// TestCauseIsKept: where one run of a scenario breaks a property at one place and
// another at another, neither is shrunk to the other.
func TestCauseIsKept(t *testing.T) {
	sc, err := library.Load("stop-machine-alone")
	require.NoError(t, err)
	places := make(map[string]bool)
	// The first three have found both places; thorough runs take all eight.
	seeds := []uint64{7, 6, 0, 1, 2, 3, 4, 5}
	for _, seed := range seeds[:max(thorough.Of(3, 8)/searchtest.Slow, 1)] {
		spec := Origin{Scenario: sc, Mutant: "no-stop", Seed: seed}
		c := violating(t, spec, "random", 10_000)
		require.NotNil(t, c)
		s, err := newShrinker(spec, c, &effort{runs: shrinkRuns, questions: shrinkQuestions})
		require.NoError(t, err)
		was := s.cause
		s.finish()
		a := s.play(s.rig, s.ear, s.anchored(s.cur.anchors))
		require.Equal(t, was, s.ear.cause(a.run))
		require.NotEmpty(t, was.site)
		places[was.label] = true
		s.close()
	}
	if searchtest.Slow == 1 {
		require.Contains(t, places, "victim+0x1")
		require.Contains(t, places, "victim+0x4")
	}
}

// TestNecessity: each deviation of a shrunk trace is needed, and an added one
// isn't.
func TestNecessity(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	spec := Origin{Scenario: sc}
	w, err := shrink(spec, violating(t, spec, "random", 10_000), &effort{runs: shrinkRuns, questions: shrinkQuestions})
	require.NoError(t, err)
	needs, err := replay.Necessity(w.File)
	require.NoError(t, err)
	require.Len(t, needs, len(w.Schedule))
	for _, n := range needs {
		require.False(t, n.Same)
		require.Equal(t, smp.Passed, n.Outcome)
		require.Contains(t, n.Says, "without it nothing is broken")
	}

	f := *w.File
	f.Schedule = append(slices.Clone(f.Schedule), traces.Deviation{Mover: "cpu1", Name: "nowhere", Occ: 1, Alt: "cpu0"})
	needs, err = replay.Necessity(&f)
	require.NoError(t, err)
	require.True(t, needs[len(needs)-1].Same)
	require.Equal(t, "without it T1 whole-instructions is broken all the same at victim+0x0", needs[len(needs)-1].Says)
	f.Scenario = "machine("
	_, err = replay.Necessity(&f)
	require.Error(t, err)
}

// TestShrinkRenames: of a machine whose first CPU has nothing to do the shrunk
// one is the rest, and the schedule uses its names.
func TestShrinkRenames(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	sc.Machine.CPUs = 4
	sc.Tasks[0].CPU, sc.Tasks[1].CPU = 1, 3
	spec := Origin{Scenario: sc}
	c := violating(t, spec, "sticky", 20_000)
	require.NotNil(t, c)
	w, err := shrink(spec, c, &effort{runs: shrinkRuns, questions: shrinkQuestions})
	require.NoError(t, err)
	small, err := lang.Load("small", []byte(w.File.Scenario), nil)
	require.NoError(t, err)
	require.Less(t, small.Machine.CPUs, 4)
	require.Equal(t, small.Machine.CPUs-1, small.Tasks[len(small.Tasks)-1].CPU)
	require.LessOrEqual(t, len(w.Schedule), 3)
	for _, d := range w.Schedule {
		require.NotEqual(t, "cpu3", d.Mover)
		require.NotEqual(t, "cpu3", d.Alt)
	}
}

// TestShrinkReadsSimply: as found, the deviations of torn-jump are at some 7th or
// 20th time; the first one may as well come earlier.
func TestShrinkReadsSimply(t *testing.T) {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	for seed := range uint64(4) {
		spec := Origin{Scenario: sc, Seed: seed}
		c := violating(t, spec, "portfolio", 20_000)
		require.NotNil(t, c)
		w, err := shrink(spec, c, &effort{runs: shrinkRuns, questions: shrinkQuestions})
		require.NoError(t, err)
		require.Len(t, w.Schedule, 2)
		first := w.Schedule[0]
		require.LessOrEqual(t, first.Occ, 3, "%v", w.Schedule)
		require.True(t, !first.Text || first.Off == 0, "%v", w.Schedule)
	}
}
