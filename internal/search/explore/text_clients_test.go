package explore_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

// TestTextClients: what static calls and lock prefixes do, by what the functions
// return, under schedules at random.
func TestTextClients(t *testing.T) {
	sc := searchtest.LoadTinier(t, `preempt = "full", fetch = "mixing"`, `
total = data("total", hex = "00000000", at = 0xffffffff83000000)
one = text("one", "b801000000 c3")
two = text("two", "b802000000 c3")
key = text("key", "c3cccccccc")
was = text("was", "e9 cbffffff", at = 0xffffffff81000040)  # a jump to two
f = text("f", "b800000000 0f1f440000 f0ff0425 00000083 c3")
s = static_call("s", sites = [f + 5], trampoline = key)
w = static_call("w", trampoline = was, target = two)
lock_prefix(f + 10)
task("a", cpu = 0, ops = [call(f, returns = 0), call(was, returns = 2), set_call(s, one), call(key, returns = 1), call(f, returns = 1), smp_locks(False),
    set_call(w, one), call(was, returns = 1), set_call(s, two), call(f, returns = 2), call(key, returns = 2), smp_locks(True), set_call(s, None), call(f, returns = 0), expect(total, "04000000")])
task("b", cpu = 1, ops = [call(key, changed = True), call(was, changed = True)])
`)
	again, err := lang.Load("again.star", []byte(lang.Print(sc)), os.ReadFile)
	require.NoError(t, err)
	require.Equal(t, sc.Calls, again.Calls)
	require.Equal(t, sc.Locked, again.Locked)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	random := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
	for i := range uint64(300) {
		random.Begin(i)
		run := rig.Run(random)
		require.Equal(t, smp.Passed, run.Outcome, "%s %v", run.Finding.Message, run.Err)
	}
}

// A static call is written as machine(patch = …) says, its sites, its tails and its
// trampoline: what is safe for a jump label is for it, and nothing else.
func TestStaticCallPatch(t *testing.T) {
	for _, place := range []string{`sites = [f + 2]`, `tails = [key]`, `trampoline = key`} {
		for _, c := range []struct {
			patch, source string
			broken        string
		}{
			{"breakpoint", "nmi(cpu = 1, run = f)\nnmi(cpu = 0, run = key)", ""},
			{"stop_machine", "", ""},
			{"stop_machine", "nmi(cpu = 1, run = f)\nnmi(cpu = 0, run = key)", "whole-instructions"},
			{"naive", "", "whole-instructions"},
			{"naive-tail-first", "", "whole-instructions"},
		} {
			sc := searchtest.LoadTinier(t, `fetch = "mixing", patch = "`+c.patch+`"`, `
one = text("one", "b801000000 c3")
two = text("two", "b802000000 c3")
f = text("f", "31c0 0f1f440000 c3", at = 0xffffffff81000105)
key = text("key", "c3cccccccc", at = 0xffffffff81000207)
s = static_call("s", `+place+`)
task("a", cpu = 0, ops = [set_call(s, one), set_call(s, two), set_call(s, None)])
task("b", cpu = 1, ops = [call(f, changed = True), call(key, changed = True)], repeat = 4)
`+c.source)
			r, err := explore.Run(explore.Spec{Scenario: sc, Runs: 2000, Seed: 1, Blind: true})
			require.NoError(t, err)
			if c.broken == "" {
				require.Zero(t, r.Violations, "%s %s %s", place, c.patch, c.source)
				continue
			}
			require.Contains(t, r.Broken, c.broken, "%s %s %s", place, c.patch, c.source)
		}
	}
}
