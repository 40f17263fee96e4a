package shrink

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/gentest"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

// drawGaps draws a schedule as a sparse list of deviations: gaps, so that
// deleting one shifts the rest, one Custom each, so that the shrinker deletes
// whole deviations.
func drawGaps(t *rapid.T) []sched.Choice {
	gap := rapid.Custom(func(t *rapid.T) sched.Gap {
		return sched.Gap{Gap: rapid.Uint64Range(0, 120).Draw(t, "gap"), Pick: rapid.IntRange(1, 3).Draw(t, "pick")}
	})
	return sched.FromGaps(rapid.SliceOfN(gap, 0, 5).Draw(t, "deviations"))
}

// counterexample is a drawn run that broke a property.
type counterexample struct {
	origin Origin
	found  *Found
	run    rig.Run
}

// drawSchedule draws how a scenario is run: along a sparse list of deviations, or by
// a strategy and its seed.
func drawSchedule(t *rapid.T) sched.Strategy {
	if rapid.Bool().Draw(t, "sparse") {
		return sched.NewSparse(drawGaps(t))
	}
	name := rapid.SampledFrom([]string{"random", "sticky", "arriving", "pct", "pos"}).Draw(t, "strategy")
	s, err := sched.New(name, sched.Params{Seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"), Length: 3000})
	require.NoError(t, err)
	return s
}

// holds draws a scenario and a schedule, and reports the run that breaks a
// property, if it does. The engine is broken by the mutant, if one is named.
func holds(t *rapid.T, mutant string) *counterexample {
	sc := gentest.DrawAny(t)
	require.NoError(t, lang.Check(sc))
	s := drawSchedule(t)
	rig, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer rig.Close()
	rec := &sched.Recorder{Strategy: s}
	run, _ := rig.Next(rec, 0)
	require.NotEqual(t, smp.Refused, run.Outcome, "%v", run.Err)
	if run.Property == nil {
		return nil
	}
	return &counterexample{Origin{Scenario: sc, Mutant: mutant}, NewFound(0, &run, run.Property, &run.Finding, 0, rec),
		run}
}

// reports has a place of its own for each property: rapid tells failures by where they
// are reported, and so doesn't shrink one into another.
var reports = map[string]func(*rapid.T, string){
	"A1": func(t *rapid.T, says string) { t.Fatal(says) },
	"A2": func(t *rapid.T, says string) { t.Fatal(says) },
	"B1": func(t *rapid.T, says string) { t.Fatal(says) },
	"C1": func(t *rapid.T, says string) { t.Fatal(says) },
	"C2": func(t *rapid.T, says string) { t.Fatal(says) },
	"E1": func(t *rapid.T, says string) { t.Fatal(says) },
	"E2": func(t *rapid.T, says string) { t.Fatal(says) },
	"F1": func(t *rapid.T, says string) { t.Fatal(says) },
	"F2": func(t *rapid.T, says string) { t.Fatal(says) },
	"H1": func(t *rapid.T, says string) { t.Fatal(says) },
	"H2": func(t *rapid.T, says string) { t.Fatal(says) },
	"H3": func(t *rapid.T, says string) { t.Fatal(says) },
	"M1": func(t *rapid.T, says string) { t.Fatal(says) },
	"T6": func(t *rapid.T, says string) { t.Fatal(says) },
	"T5": func(t *rapid.T, says string) { t.Fatal(says) },
	"J1": func(t *rapid.T, says string) { t.Fatal(says) },
	"J2": func(t *rapid.T, says string) { t.Fatal(says) },
	"J3": func(t *rapid.T, says string) { t.Fatal(says) },
	"K1": func(t *rapid.T, says string) { t.Fatal(says) },
	"L1": func(t *rapid.T, says string) { t.Fatal(says) },
	"L2": func(t *rapid.T, says string) { t.Fatal(says) },
	"L3": func(t *rapid.T, says string) { t.Fatal(says) },
	"L4": func(t *rapid.T, says string) { t.Fatal(says) },
	"N1": func(t *rapid.T, says string) { t.Fatal(says) },
	"N2": func(t *rapid.T, says string) { t.Fatal(says) },
	"N3": func(t *rapid.T, says string) { t.Fatal(says) },
	"O1": func(t *rapid.T, says string) { t.Fatal(says) },
	"P1": func(t *rapid.T, says string) { t.Fatal(says) },
	"P2": func(t *rapid.T, says string) { t.Fatal(says) },
	"P3": func(t *rapid.T, says string) { t.Fatal(says) },
	"P4": func(t *rapid.T, says string) { t.Fatal(says) },
	"P5": func(t *rapid.T, says string) { t.Fatal(says) },
	"R1": func(t *rapid.T, says string) { t.Fatal(says) },
	"R2": func(t *rapid.T, says string) { t.Fatal(says) },
	"S1": func(t *rapid.T, says string) { t.Fatal(says) },
	"T1": func(t *rapid.T, says string) { t.Fatal(says) },
	"T2": func(t *rapid.T, says string) { t.Fatal(says) },
	"T3": func(t *rapid.T, says string) { t.Fatal(says) },
	"T4": func(t *rapid.T, says string) { t.Fatal(says) },
	"U1": func(t *rapid.T, says string) { t.Fatal(says) },
	"U2": func(t *rapid.T, says string) { t.Fatal(says) },
	"W1": func(t *rapid.T, says string) { t.Fatal(says) },
	"X1": func(t *rapid.T, says string) { t.Fatal(says) },
	"X2": func(t *rapid.T, says string) { t.Fatal(says) },
}

// TestRapidReports: each property has its place.
func TestRapidReports(t *testing.T) {
	require.Len(t, reports, len(properties.All))
	for _, p := range properties.All {
		require.Contains(t, reports, p.ID)
	}
}

// report fails with what was found, at the place of its property.
func (c *counterexample) report(t *rapid.T) {
	reports[c.run.Property.ID](t, fmt.Sprintf("%s: %s\nschedule %+v\n%s", c.run.Property.Name, c.run.Finding.Message,
		c.found.Choices, lang.Print(c.origin.Scenario)))
}

// witness shrinks it further, by our own shrinker.
func (c *counterexample) witness(t *testing.T) *Witness {
	// a busy computer gives rapid few tries in its second
	e := &effort{runs: 4 * shrinkRuns, questions: 4 * shrinkQuestions}
	w, err := shrink(c.origin, c.found, e)
	require.NoError(t, err)
	return w
}

// TestRapidEngine: whatever is drawn, the right engine holds every property. What
// doesn't is saved as a trace.
func TestRapidEngine(t *testing.T) {
	var last *counterexample
	t.Cleanup(func() {
		if last == nil {
			return
		}
		w := last.witness(t)
		require.NoError(t, os.MkdirAll(filepath.Join(searchtest.Root(t), "traces"), 0o755))
		path := filepath.Join(searchtest.Root(t), "traces", "rapid-"+w.Property.ID+".kps")
		require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
		t.Logf("to replay: go run ./cmd/kpsim replay traces/%s", filepath.Base(path))
	})
	rapid.Check(t, func(t *rapid.T) {
		if c := holds(t, ""); c != nil {
			last = c
			c.report(t)
		}
	})
}

// TestRapidFindsMutant: with a step left out the same property fails, shrinks
// to a small counterexample, and that is saved as a trace which replays. Of three
// counterexamples one may stay large: rapid has a second, and ours so many runs.
func TestRapidFindsMutant(t *testing.T) {
	setFlag(t, "rapid.checks", "5000")
	setFlag(t, "rapid.shrinktime", "1s") // ours does the rest
	setFlag(t, "rapid.nofailfile", "true")
	small := 0
	seeds := []string{"1", "2", "3"}[:thorough.Of(1, 3)]
	for _, seed := range seeds {
		setFlag(t, "rapid.seed", seed)
		var last *counterexample
		tb := &fakeTB{TB: t}
		tb.check(func(t *rapid.T) {
			if c := holds(t, "no-sync-disarm"); c != nil {
				last = c
				c.report(t)
			}
		})
		require.True(t, tb.failed, "rapid didn't find the mutant")
		require.NotNil(t, last)

		w := last.witness(t)
		require.Equal(t, last.run.Property, w.Property)
		if len(w.Schedule) <= 8 {
			small++
		}
		t.Logf("seed %s: %d deviations", seed, len(w.Schedule))

		path := filepath.Join(t.TempDir(), "rapid.kps")
		require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
		r, err := replay.Play(path, searchtest.ReadTrace(t, path), false)
		require.NoError(t, err)
		defer r.Rig.Close()
		require.True(t, r.Same, r.Why)
	}
	require.GreaterOrEqual(t, small, len(seeds)-len(seeds)/3)
}

// fakeTB takes the failure that is wanted.
type fakeTB struct {
	testing.TB
	failed bool
}

// check is rapid.Check, come back from.
func (f *fakeTB) check(prop func(*rapid.T)) {
	defer func() {
		if r := recover(); r != nil && r != errFailed {
			panic(r)
		}
	}()
	rapid.Check(f, prop)
}

func setFlag(t *testing.T, name, value string) {
	old := flag.Lookup(name).Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { flag.Set(name, old) })
}

var errFailed = fmt.Errorf("failed, as wanted")

func (f *fakeTB) Name() string          { return "TestRapidFindsMutant" }
func (f *fakeTB) Logf(string, ...any)   {}
func (f *fakeTB) Log(...any)            {}
func (f *fakeTB) Errorf(string, ...any) { f.failed = true }
func (f *fakeTB) Error(...any)          { f.failed = true }
func (f *fakeTB) Fail()                 { f.failed = true }
func (f *fakeTB) Failed() bool          { return f.failed }
func (f *fakeTB) Fatalf(string, ...any) { f.failed = true; panic(errFailed) }
func (f *fakeTB) Fatal(...any)          { f.failed = true; panic(errFailed) }
func (f *fakeTB) FailNow()              { f.failed = true; panic(errFailed) }
