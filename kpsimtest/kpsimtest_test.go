package kpsimtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kpsimtest"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A recorder is the test that is failed, or isn't.
type recorder struct {
	testing.TB
	errors []string
	fatal  bool
}

func (r *recorder) Helper()                   {}
func (r *recorder) Name() string              { return "TestRecorded/sub test" }
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(a ...any)            { r.Fatalf("%s", fmt.Sprint(a...)) }
func (r *recorder) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	r.fatal = true
	runtime.Goexit()
}

// recorded returns how f fails its test, in a folder of its own.
func recorded(t *testing.T, f func(t testing.TB)) *recorder {
	t.Helper()
	t.Chdir(t.TempDir())
	r := &recorder{TB: t}
	done := make(chan bool)
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

// What breaks a property fails Never, and leaves a trace that Replay plays.
func TestNeverFails(t *testing.T) {
	for _, options := range [][]kpsimtest.Option{
		{kpsimtest.Mutant("no-quiesce"), kpsimtest.Properties("T2")},
		{kpsimtest.Mutant("no-quiesce"), kpsimtest.Properties("no-start-inside"), kpsimtest.Deviations(3)},
	} {
		r := recorded(t, func(t testing.TB) { kpsimtest.Never(t, mine, options...) })
		require.False(t, r.fatal)
		require.Len(t, r.errors, 1)
		require.Regexp(t, `^mine: no-start-inside at f\+0x\d, in \d+ of \d+ schedules: cpu1 caller .*\n`, r.errors[0])
		require.Contains(t, r.errors[0],
			"\n    to see why:  go run kpsim/cmd/kpsim explain "+must(filepath.Abs("testdata"))+
				"/TestRecorded-sub-test/mine-no-start-inside.kps")
		kpsimtest.Replay(t, "testdata/TestRecorded-sub-test/mine-no-start-inside.kps")
	}
}

// A scenario with nothing to interleave shows nothing, and doesn't pass.
func TestNeverAlone(t *testing.T) {
	const alone = "scenario('alone')\nf = text('f', '31c0 c3')\ntask('t', ops = [call(f), write(f, '31db')])\n"
	r := recorded(t, func(t testing.TB) {
		kpsimtest.Never(t, strings.Replace(alone, ", write(f, '31db')])", "])\ntask('u', cpu = 1, ops = [call(f)])", 1))
	})
	require.Len(t, r.errors, 1)
	require.Contains(t, r.errors[0], "alone: nothing is patched: ")
	for _, options := range [][]kpsimtest.Option{{}, {kpsimtest.Deviations(2)}} {
		r := recorded(t, func(t testing.TB) { kpsimtest.Never(t, alone, options...) })
		require.Len(t, r.errors, 1)
		require.Contains(t, r.errors[0], "alone: nothing could interleave: ")
	}
}

// An error about a scenario's code names the line of its text, once; one about an argument, the line of the call.
func TestPlaces(t *testing.T) {
	const wrong = "scenario(\"wrong\")\nf = text(\"f\", \"0f05 c3\")\ntask(\"t\", ops = [call(f)])\n"
	r := recorded(t, func(t testing.TB) { kpsimtest.Never(t, wrong) })
	require.True(t, r.fatal)
	require.Equal(t, []string{"TestRecorded-sub-test.star:2:5: run without probes: cpu0 t: f+0x0: 0f 05: syscall: " +
		"is not executed by this simulator"}, r.errors)
	r = recorded(t, func(t testing.TB) { kpsimtest.Reaches(t, mine, "g") })
	require.True(t, r.fatal)
	require.Equal(t, []string{`mine: no function is called "g"; there is "f"`}, r.errors)
}

// The schedule of a witness is run first, on the scenario as it is: it fails a search too short to find it.
func TestWitness(t *testing.T) {
	recorded(t, func(t testing.TB) { kpsimtest.Never(t, mine, kpsimtest.Mutant("no-quiesce")) })
	file := must(filepath.Abs("testdata/TestRecorded-sub-test/mine-no-start-inside.kps"))
	witness := kpsimtest.Witness(file)
	r := recorded(t, func(t testing.TB) {
		kpsimtest.Never(t, mine, kpsimtest.Mutant("no-quiesce"), kpsimtest.Runs(1), witness)
	})
	require.Len(t, r.errors, 1)
	require.Contains(t, r.errors[0], "the schedule of "+file+" breaks no-start-inside still: cpu1")
	r = recorded(t, func(t testing.TB) { kpsimtest.Never(t, mine, kpsimtest.Runs(1000), witness) })
	require.Empty(t, r.errors)
}

// Each gives runs that repeat, with their events, and the trace of one that breaks a property.
func TestEach(t *testing.T) {
	digests := func() (list []uint64) {
		for run := range kpsimtest.Each(t, mine, kpsimtest.Mutant("no-quiesce"), kpsimtest.Runs(300)) {
			n, stores, last := 0, 0, -1
			for e := range run.Events() {
				require.GreaterOrEqual(t, int(e.Seq), last)
				n, last = n+1, int(e.Seq)
			}
			for e := range run.Events(smpev.TextStore) {
				require.Equal(t, smpev.TextStore, e.Kind)
				stores++
			}
			require.Greater(t, n, stores)
			require.Positive(t, stores)
			if require.Equal(t, run.Property == "", run.Trace() == nil); run.Property != "" && len(list) < 100 {
				require.Equal(t, "violated", run.Ended)
				file := filepath.Join(t.TempDir(), "it.kps")
				kpsimtest.Save(t, file, run.Trace())
				kpsimtest.Replay(t, file)
			}
			if list = append(list, run.Digest); len(list) == 200 {
				break
			}
		}
		return list
	}
	first := digests()
	require.Len(t, first, 200)
	require.Equal(t, first, digests())
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(first)))), 20)
}

// A trace that no longer ends as it says fails Replay.
func TestReplayFails(t *testing.T) {
	r := recorded(t, func(t testing.TB) {
		kpsimtest.Never(t, mine, kpsimtest.Mutant("no-quiesce"), kpsimtest.Properties("T2"))
		path := "testdata/TestRecorded-sub-test/mine-no-start-inside.kps"
		s := string(must(os.ReadFile(path)))
		if err := os.WriteFile(path, []byte(strings.Replace(s, "mutant", "xmutant", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		kpsimtest.Replay(t, path)
	})
	require.Len(t, r.errors, 2, r.errors)
}

// A file and a built-in scenario are searched as text is.
func TestSources(t *testing.T) {
	r := recorded(t, func(t testing.TB) {
		if err := os.WriteFile("of-a-file.star", []byte(strings.Replace(mine, `"mine", `, "", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		kpsimtest.Never(t, "of-a-file.star")
		kpsimtest.Sometimes(t, "second-instruction", "T2")
	})
	require.Empty(t, r.errors)
}

// A file's name without its end is told what to write in the test, not what to type.
func TestFileWithoutEnd(t *testing.T) {
	r := recorded(t, func(t testing.TB) {
		if err := os.WriteFile("mine.star", []byte(mine), 0o644); err != nil {
			t.Fatal(err)
		}
		kpsimtest.Never(t, "mine")
	})
	require.Len(t, r.errors, 1)
	require.Regexp(t, `there is mine\.star: write "mine\.star"$`, r.errors[0])
}

// What needs a store that others see late is seen under a weak memory model only.
func TestMemory(t *testing.T) {
	options := []kpsimtest.Option{kpsimtest.Runs(20000), kpsimtest.Mutant("drop-worker-clear-before-working")}
	require.Empty(t, recorded(t, func(t testing.TB) {
		kpsimtest.Sometimes(t, "order-work", "right-result", append(options, kpsimtest.Memory("tso"))...)
	}).errors)
	require.Len(t, recorded(t, func(t testing.TB) {
		kpsimtest.Sometimes(t, "order-work", "right-result", append(options, kpsimtest.Memory("sc"))...)
	}).errors, 1)
}

// What can't show anything, or is no scenario, fails the test and names what is wrong.
func TestMistakes(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		source string
		option kpsimtest.Option
		want   string
	}{
		{mine, kpsimtest.Mutant("no-such"), "no-such"},
		{mine, kpsimtest.Strategy("no-such"), "no-such"},
		{mine, kpsimtest.Edition("no-such"), "no-such"},
		{mine, kpsimtest.Fetch("no-such"), "no-such"},
		{mine, kpsimtest.Memory("no-such"), "no-such"},
		{mine, kpsimtest.Properties("no-such"), "no-such"},
		{mine, kpsimtest.Properties(), "no property is named"},
		{mine, kpsimtest.Runs(0), "shows nothing"},
		{mine, kpsimtest.Deviations(-1), "number of choices"},
		{mine, kpsimtest.Context(gone), "context canceled after"},
		{mine, kpsimtest.Runs(1), "the search is blind: with its canary no-quiesce nothing is broken"},
		{"no-such.star", kpsimtest.Seed(1), "no-such.star"},
		{"register-storm", kpsimtest.Seed(1), "family of 2 scenarios"},
		{"machine(", kpsimtest.Seed(1), "TestRecorded-sub-test.star"},
	} {
		r := recorded(t, func(t testing.TB) { kpsimtest.Never(t, c.source, c.option) })
		require.Len(t, r.errors, 1, c.want)
		require.Contains(t, r.errors[0], c.want)
	}
}

// What no schedule breaks fails Sometimes.
func TestSometimesFails(t *testing.T) {
	r := recorded(t, func(t testing.TB) { kpsimtest.Sometimes(t, mine, "no-start-inside", kpsimtest.Runs(100)) })
	require.Equal(t, []string{"mine: none of 100 schedules breaks no-start-inside"}, r.errors)
}

// TestReaches: a function that a patched call goes to is reached, one that only an unpatched call goes to isn't, and an
// unknown one is an error.
func TestReaches(t *testing.T) {
	const sketch = `scenario("call")
machine(cpus = 2)
old = text("old", at = 0x400200, hex = "31c0 c3")
new = text("new", at = 0x400220, hex = "31c0 c3")
site = text("site", at = 0x400140, hex = "e8bb000000 c3")
task("writer", cpu = 0, ops = [write(site, call_to(%s), by = 8)])
task("caller", cpu = 1, ops = [call(site), call(site)])
never()
`
	to := func(f string) string { return fmt.Sprintf(sketch, f) }
	kpsimtest.Reaches(t, to("new"), "new", kpsimtest.Runs(200))
	kpsimtest.Reaches(t, to("old"), "old", kpsimtest.Runs(1))
	for _, c := range []struct{ scenario, function, want string }{
		{to("old"), "new", "call: none of 200 schedules reaches new"},
		{to("new"), "nwe", `call: no function is called "nwe"; did you mean "new"?`},
	} {
		r := recorded(t, func(t testing.TB) { kpsimtest.Reaches(t, c.scenario, c.function, kpsimtest.Runs(200)) })
		require.Equal(t, []string{c.want}, r.errors)
	}
}

// A monitor's finding fails the test, and so does a property's.
func TestMonitorFails(t *testing.T) {
	kinds := []traces.Kind{smpev.TextStore}
	r := recorded(t, func(t testing.TB) { kpsimtest.Monitor(t, "jump-label-flip", noWriter{}, kinds) })
	require.Equal(t, []string{"jump-label-flip: in schedule 1 of seed 1: a store"}, r.errors)
	r = recorded(t, func(t testing.TB) {
		kpsimtest.Monitor(t, "jump-label-flip", new(oneWriter), kinds, kpsimtest.Mutant("no-sync-1"))
	})
	require.Len(t, r.errors, 1)
	require.Regexp(t, `in schedule \d+ of seed 1: cpu\d`, r.errors[0])
}

type noWriter struct{}

func (noWriter) Event(*traces.Event) *traces.Finding { return &traces.Finding{Message: "a store"} }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
