package harness

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/properties/scenario"
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
	spec    Spec
	choices []sched.Choice
	run     Run
}

// holds draws a scenario and a schedule, and reports the run that breaks a
// property, if it does. The engine is broken by the mutant, if one is named.
func holds(t *rapid.T, mutant string) *counterexample {
	sc := scenario.Draw(t)
	require.NoError(t, scenario.Check(sc))
	choices := drawGaps(t)
	rig, err := New(sc, mutant)
	require.NoError(t, err)
	defer rig.Close()
	rec := &sched.Recorder{Strategy: sched.NewSparse(choices)}
	run := rig.play(rec)
	require.NotEqual(t, smp.Refused, run.Outcome, "%v", run.Err)
	if run.Property == nil {
		return nil
	}
	return &counterexample{Spec{Scenario: sc, Mutant: mutant}, append([]sched.Choice(nil), rec.Recording().Choices...), run}
}

// TestRapidEngine: whatever is drawn, the right engine holds every property.
func TestRapidEngine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if c := holds(t, ""); c != nil {
			t.Fatalf("%s: %s\nschedule %+v\n%s", c.run.Property.Name, c.run.Finding.Message, c.choices, c.spec.Scenario)
		}
	})
}

// TestRapidFindsMutant: with a step left out the same property fails, shrinks
// to a small counterexample, and that is saved as a trace which replays.
func TestRapidFindsMutant(t *testing.T) {
	setFlag(t, "rapid.checks", "5000")
	setFlag(t, "rapid.shrinktime", "1s") // ours does the rest
	setFlag(t, "rapid.nofailfile", "true")
	var last *counterexample
	tb := &fakeTB{TB: t}
	tb.check(func(t *rapid.T) {
		if c := holds(t, "no-sync-disarm"); c != nil {
			last = c
			t.Fatalf("%s", c.run.Property.Name)
		}
	})
	require.True(t, tb.failed, "rapid didn't find the mutant")
	require.NotNil(t, last)

	c := &candidate{run: last.run, choices: last.choices, asked: last.run.Counts.Points, by: "rapid"}
	e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
	w, err := shrink(&last.spec, c, e)
	require.NoError(t, err)
	require.LessOrEqual(t, len(w.Schedule), 4, "%v", w.Schedule)

	path := filepath.Join(t.TempDir(), "rapid.kps")
	require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
	_, r := playPath(t, path, nil)
	require.True(t, r.Same, r.Why)
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
