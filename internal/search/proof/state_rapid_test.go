package proof

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/gentest"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
)

// TestRapidMerges is TestMerges of scenarios that are drawn, broken or not, with a
// second task that calls the API, and with interrupts that run text.
func TestRapidMerges(t *testing.T) {
	t.Parallel()
	total, drawn, checked := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if drawn++; *mergedRuns == 0 && drawn > thorough.Of(6, 15) {
			return // building a rig and learning what conflicts takes most of the time
		}
		sc := gentest.Draw(rt)
		require.NoError(rt, sc.SetFetch(rapid.SampledFrom([]string{"coherent", "stale", "mixing"}).Draw(rt, "fetch")))
		if rapid.Bool().Draw(rt, "two probers") {
			other := sc.Tasks[0]
			other.Name, other.CPU = "prober2", rapid.IntRange(0, sc.Machine.CPUs-1).Draw(rt, "cpu")
			sc.Tasks = append(sc.Tasks, other)
		}
		for i := range sc.Sources {
			if s := &sc.Sources[i]; s.Kind != scenario.SourcePreempt && rapid.Bool().Draw(rt, "runs text") {
				s.Run = sc.Texts[rapid.IntRange(0, len(sc.Texts)-1).Draw(rt, "text")].Name
				s.Opens = s.Kind == scenario.SourceTimer && rapid.Bool().Draw(rt, "opens")
			}
			if s := &sc.Sources[i]; s.Kind != scenario.SourcePreempt {
				s.Idle = rapid.IntRange(0, 3).Draw(rt, "idle") == 0
			}
		}
		sc.Machine.NoHZ = rapid.Bool().Draw(rt, "no tick in idle")
		require.NoError(rt, lang.Check(sc))
		mu := rapid.SampledFrom([]string{"", "", "no-sync-disarm", "no-sync-2", "no-grace", "no-restore", "free-early",
			"no-quiesce"}).Draw(rt, "mutant")
		w := newWalk(t, sc, mu, "")
		n, differ := w.merges(t, mu, max(*mergedRuns, 100/uint64(searchtest.Slow)), *mergesEvery)
		w.rig.Close()
		if differ != "" {
			rt.Fatalf("mutant %q: %s\n%s", mu, differ, lang.Print(sc))
		}
		if total += n; n > 0 {
			checked++
		}
	})
	t.Logf("%d merges, in %d scenarios", total, checked)
	require.NotZero(t, total)
}

// TestMergesSmall: what a routine knows and doesn't read in memory is in a state,
// too; each scenario is one in which it once wasn't.
func TestMergesSmall(t *testing.T) {
	for _, c := range []struct{ name, machine, rest, mutant string }{
		{"which timer fired", `patch = "naive"`, `
v = text("v", hex = "90 c3")
f = text("f", hex = "90 c3")
g = text("g", hex = "90 90 90 90 c3")
task("b", cpu = 0, ops = [call(v, changed = True)])
task("c", cpu = 1, ops = [call(v, changed = True)])
timer(cpu = 0, run = f)
timer(cpu = 0, run = g)
`, ""},
		{"whether another task wanted the CPU", `preempt = "voluntary", quiesce = "sched", patch = "breakpoint"`, `
v = text("v", hex = "8d443701 c3")
k = kprobe("k", at = v)
task("a", cpu = 0, ops = [register(k), disable(k)])
`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, differ := newWalk(t, searchtest.LoadTinier(t, c.machine, c.rest), c.mutant, "").merges(t, c.mutant, 4000,
				1)
			require.Empty(t, differ)
			require.NotZero(t, n)
			t.Log(n)
		})
	}
}

// TestStatesForget: what a task's operation has read is no part of the states
// after it, so that there are fewer.
func TestStatesForget(t *testing.T) {
	ops := "[label_on(l), call(w), label_off(l)])\n"
	w := newWalk(t, searchtest.LoadTinier(t, `patch = "breakpoint"`, aLabel+`task("a", cpu = 0, ops = `+ops+
		`task("b", cpu = 1, ops = `+ops), "", "")
	w.run(0, func() {}, func(rig.Run) {})
	require.True(t, w.s.Complete())
	require.Less(t, w.s.Stats().States, 3500) // 3883 if nothing is forgotten
}

// waitForEachOther is two CPUs that do.
const waitForEachOther = `
a = data("a", at = 0xffffffff83000000, hex = "00")
b = data("b", at = 0xffffffff83000040, hex = "00")
# movb $1,a; cmpb $1,b; je to the cmpb; movb $0,a; ret; and the other way about
f = text("f", hex = "c604250000008301 803c254000008301 74f6 c604250000008300 c3")
g = text("g", hex = "c604254000008301 803c250000008301 74f6 c604254000008300 c3")
task("x", cpu = 0, ops = [call(f, changed = True)])
task("y", cpu = 1, ops = [call(g, changed = True)])
`

// TestStatesCircle: two CPUs that wait for each other for ever reach a state
// again and again. That is no end, and isn't taken for one.
func TestStatesCircle(t *testing.T) {
	sc := searchtest.LoadTinier(t, `patch = "breakpoint", steps = 500`, waitForEachOther)
	v, err := Verify(Proof{Spec: explore.Spec{Scenario: sc}, Full: true, All: true})
	require.NoError(t, err)
	require.NotZero(t, v.Circles)
	require.Equal(t, v.Circles, v.Cut)
	require.Equal(t, map[string]uint64{"progress": v.Circles}, v.Broken)
	require.Len(t, v.Witnesses, 1)
}

// TestStatesUnwritten: text that reads bytes of its stack that it hasn't written
// finds there what is no part of a state; of such none is verified.
func TestStatesUnwritten(t *testing.T) {
	for _, c := range []struct {
		hex  string
		says bool
	}{
		{"4883ec08 58 c3", true},                 // sub $8,%rsp; pop %rax; ret
		{"4883ec08 c7042401000000 58 c3", false}, // movl $1,(%rsp) in between
		// what was written before the stack pointer was above it
		{"6a01 4883c408 4883ec08 8b0424 4883c408 c3", true},
		{"4883ec10 6a01 4883c408 58 58 c3", true},                 // or below it
		{"55 4889e5 4883ec10 c745f801000000 8b45f8 c9 c3", false}, // a frame, a local variable of it, leave
		{"4889e0 488b00 31c0 488b442408 31c0 c3", false},          // the return address, and what is above it
	} {
		sc := searchtest.LoadTinier(t, `patch = "breakpoint"`, fmt.Sprintf(`
v = text("v", hex = "%s")
task("a", cpu = 0, ops = [call(v, changed = True)])
task("b", cpu = 1, ops = [call(v, changed = True)])
timer(cpu = 1)
`, c.hex))
		_, err := Verify(Proof{Spec: explore.Spec{Scenario: sc}, Full: true})
		if c.says {
			require.ErrorContains(t, err, "reads bytes of its stack", c.hex)
		} else {
			require.NoError(t, err, c.hex)
		}
	}
}
