package proof

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

var fewAll = flag.Bool("few-all", false,
	"hold the searches against each other in all built-in scenarios, whatever it takes")

// A deepWalk is a walk that looks at the last state of each run, which says more than
// where it ended.
type deepWalk struct {
	*walk
	shallow bool // it doesn't: what the monitors hold is another where steps that commute come in another order
}

// ends makes all runs of a search.
func (w deepWalk) ends(s sched.Strategy, grew func() bool) map[end]int {
	rig, st := w.rig, w.seen.states
	ends := make(map[end]int)
	for i := uint64(0); s.Begin(i); i++ {
		run := rig.Run(s)
		e := whereItEnded(rig, run)
		switch {
		case run.Early:
			e.final = 0 // what conflicts with nothing may have been done by then, or not
		case run.Outcome != smp.Abandoned && !w.shallow:
			hi, lo := forgetful{st, "what routines have read"}.State()
			e.final ^= hi ^ lo
		}
		if run.Outcome != smp.Abandoned {
			ends[e]++
		}
		s.End(run.Counts.Points)
		if grew() {
			clear(ends)
		}
	}
	return ends
}

// by makes the runs of a search of states.
func (w deepWalk) by(observe func(sim.Observer), how func(s *sched.States)) map[end]int {
	w.s = sched.NewStates(w.seen.states)
	w.seen.States, w.seen.states.next = w.s, w.s
	observe(surveyor{w.s})
	surveyStates(w.rig, w.s, 128, 128)
	observe(w.seen)
	how(w.s)
	return w.ends(endedBy{w.seen}, func() bool {
		grew := w.seen.grew()
		if grew = w.rig.Machine.Footprint().SharedGrew() || grew; grew {
			w.s.Restart()
		}
		return grew
	})
}

// endedBy tells the search of the end of a run.
type endedBy struct{ observedBy }

// End implements sched.Strategy.
func (e endedBy) End(n uint64) { e.States.End(n) }

// byClasses makes the runs of at most k deviations, told apart by classes.
func (w deepWalk) byClasses(k int) (ends map[end]int, b *sched.Bounded) {
	b = sched.NewBounded(k, 0, 1, w.rig.Machine.State().Lead)
	st := w.seen.states
	st.next = b
	w.rig.Observe(st)
	ends = w.ends(fromStart{b, st}, func() bool {
		grew := w.rig.Machine.Footprint().SharedGrew()
		if grew {
			b.Restart()
		}
		return grew
	})
	return ends, b
}

// fromStart tells a states of each run from its start.
type fromStart struct {
	sched.Strategy
	st *states
}

// Begin implements sched.Strategy.
func (f fromStart) Begin(i uint64) bool {
	f.st.Back(-1)
	return f.Strategy.Begin(i)
}

// plainly makes each run of at most k deviations.
func (w deepWalk) plainly(k int) (ends map[end]int, ok bool) {
	d := sched.NewDeviations(sched.Params{Most: k})
	st := w.seen.states
	st.next = rig.Deaf{}
	w.rig.Observe(st)
	ends = w.ends(fromStart{d, st}, func() bool { return false })
	return ends, d.Complete()
}

func loadNamed(t *testing.T, name string) *scenario.Scenario {
	if name == "tiny" {
		return tiny(t)
	}
	sc, err := library.Load(name)
	require.NoError(t, err)
	return sc
}

// TestBoundIsClasses: the schedules of at most so many deviations reach the
// same states, whether they are told apart by states or by classes, and whether
// that is done at all.
func TestBoundIsClasses(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	several := 0
	for _, c := range []struct {
		name, mutants string
		k             int
		plainly       bool
	}{
		// an IPI that no CPU waits for, by default
		{"register-race", thorough.Of("asked-unlocked", " asked-unlocked"), 1, true},
		{"safe-full", " no-quiesce", 1, true},
		{"flag-early", "", 1, true},
		{"stop-machine-alone", " no-stop", 1, true},
		{"hotplug-stop", "", 1, true},
		{"tiny", "no-sync-2", 2, false},
		{"jump-label-flip", "", 2, false},
	}[:thorough.Of(5, 7)] {
		sc := loadNamed(t, c.name)
		for _, mutant := range strings.Split(c.mutants, " ") {
			what := fmt.Sprintf("%s, mutant %q", c.name, mutant)
			w := deepWalk{newWalk(t, sc, mutant, ""), c.name == "register-race"}
			want, b := w.byClasses(c.k)
			require.True(t, b.Complete())
			got := w.by(w.rig.Observe, func(s *sched.States) { s.Bound(c.k, w.rig.Machine.State().Lead) })
			require.True(t, w.s.Complete())
			sameKeys(t, want, got, what)
			require.Less(t, w.s.Stats().Runs, b.Stats().Runs*11/10, what)
			if c.plainly {
				all, ok := w.plainly(c.k)
				require.True(t, ok)
				sameKeys(t, all, got, what+", plainly")
			}
			if w.rig.Close(); len(want) > 2 {
				several++
			}
		}
	}
	require.Greater(t, several, thorough.Of(3, 5))
}

// TestVerifyFew: what is verified by states is what is verified by classes.
func TestVerifyFew(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	type proof struct {
		name, mutant string
		k            int
	}
	proofs := []proof{
		{"register-race", "", 1}, {"register-race", "asked-unlocked", 1}, {"tiny", "no-sync-2", 2},
		{"tiny", "no-quiesce", 2},
		{"stop-machine-alone", "no-stop", 1}, {"safe-none", "no-restore", 0},
	}
	if *fewAll {
		for _, name := range library.Names() {
			proofs = append(proofs, proof{name, "", 1}, proof{name, "", 2})
		}
	}
	broken := 0
	for i, c := range proofs {
		if i%2 == 0 && !*fewAll && !thorough.Set() {
			continue
		}
		p := Proof{Spec: explore.Spec{Scenario: loadNamed(t, c.name), Mutant: c.mutant}, Deviations: c.k, All: true}
		got, err := Verify(p)
		if err != nil {
			require.Regexp(t, "give --by classes|leave stall out", err.Error())
			continue
		}
		p.Classes = true
		want, err := Verify(p)
		require.NoError(t, err)
		require.Equal(t, keys(want.Broken), keys(got.Broken), "%+v", c)
		require.Equal(t, want.Done, got.Done, "%+v", c)
		require.Equal(t, want.Complete, got.Complete, "%+v", c)
		broken += len(got.Broken)
	}
	require.Greater(t, broken, 1)
}

// TestVerifySameEachTime: two searches have the same states, though what the engine holds of
// each probe in turn, an instruction that was decoded anew among it, lies elsewhere. Nearly
// all schedules reach a state that another has reached.
func TestVerifySameEachTime(t *testing.T) {
	t.Parallel()
	thorough.Only(t, "6 s; TestProofs has two small proofs that are the same")
	var first *Verified
	for range 2 {
		got, err := Verify(Proof{Spec: explore.Spec{Scenario: loadNamed(t, "function-at-work"),
			Runs: 100 / searchtest.Slow}, Deviations: 1})
		require.NoError(t, err)
		require.Greater(t, got.Pruned, got.Runs*9/10)
		if first == nil {
			first = got
			runtime.GC()
		}
		require.Equal(t, first.States, got.States)
		require.Equal(t, first.Pruned, got.Pruned)
		require.Equal(t, first.Runs, got.Runs)
	}
}

func keys(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }

// TestVerifySleep: where movers sleep, runs end in the same states as without
// sleeping, and break the same properties.
func TestVerifySleep(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	broken := 0
	for _, c := range []struct{ name, mutant string }{
		{"tiny", "no-quiesce"}, {"stop-machine-alone", "no-stop"}, {"jump-label-flip", ""},
	}[:thorough.Of(1, 3)] {
		sc := loadNamed(t, c.name)
		w := deepWalk{newWalk(t, sc, c.mutant, ""), false}
		want := w.by(w.rig.ObserveAtomicIRQs, func(*sched.States) {})
		runs := w.s.Stats().Runs
		require.True(t, w.s.Complete())
		got := w.by(w.rig.ObserveAtomicIRQs, (*sched.States).Sleep)
		require.True(t, w.s.Complete())
		sameKeys(t, want, got, c.name+c.mutant)
		require.Less(t, w.s.Stats().Runs, runs)
		w.rig.Close()

		if c.mutant != "no-quiesce" {
			continue
		}
		p := Proof{Spec: explore.Spec{Scenario: sc, Mutant: c.mutant}, Full: true, Counted: true, All: true}
		all, err := Verify(p)
		require.NoError(t, err)
		p.Counted = false
		few, err := Verify(p)
		require.NoError(t, err)
		require.Equal(t, keys(all.Broken), keys(few.Broken), "%+v", c)
		require.True(t, all.Complete && few.Complete)
		require.Less(t, few.Runs, all.Runs)
		broken += len(few.Broken)
	}
	require.NotZero(t, broken)
}

// TestVerifyFewCircles: a run that goes round in circles is reported, with many
// deviations left or none, and where no question is asked.
func TestVerifyFewCircles(t *testing.T) {
	for _, c := range []struct {
		name, machine, rest, mutant string
		from                        int // by so many deviations
	}{
		{"two wait for each other", `patch = "breakpoint", steps = 500`, waitForEachOther, "", 2},
		{"a kick is lost", `quiesce = "sched", steps = 1000`, `
v = text("v", hex = "4889f8 4883c003 c3")
k = kprobe("k", at = v)
task("a", cpu = 0, ops = [register(k), wait_optimized()])
`, "lost-kick", 0},
	} {
		for k := thorough.Of(max(c.from-1, 0), 0); k < thorough.Of(c.from+1, 3); k++ {
			p := Proof{Spec: explore.Spec{Scenario: searchtest.LoadTinier(t, c.machine, c.rest), Mutant: c.mutant},
				Deviations: k, All: true}
			v, err := Verify(p)
			require.NoError(t, err)
			require.Equal(t, k >= c.from, v.Broken["progress"] > 0, "%s, %d deviations: %+v", c.name, k, v)
			require.Equal(t, v.Cut, v.Broken["progress"], "%s, %d deviations", c.name, k)
			if c.from > 0 {
				require.Equal(t, k >= c.from, v.Circles > 0, "%s, %d deviations", c.name, k)
			}
			p.Classes = true
			by, err := Verify(p)
			require.NoError(t, err)
			require.Equal(t, keys(by.Broken), keys(v.Broken), "%s, %d deviations", c.name, k)
		}
	}
}
