package scenariotest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/kpev"
)

var (
	off   = scenario.Op{Kind: act.Optimization}
	onAll = scenario.Op{Kind: act.Optimization, On: true}
)

// TestSysctl: which jumps are written and taken away when the sysctl is written
// (spec 7.3). o: a jump is written, u: it is taken away, by the probe's letter.
func TestSysctl(t *testing.T) {
	for _, test := range []struct {
		says string
		ops  []scenario.Op
		want []string
	}{
		{"0 takes jumps away", []scenario.Op{register("a"), register("b"), wait, off},
			[]string{"oa", "ob", "ua", "ub"}},
		{"1 writes them again", []scenario.Op{register("a"), wait, off, onAll, wait}, []string{"oa", "ua", "oa"}},
		{"none is written meanwhile", []scenario.Op{off, register("a"), wait}, nil},
		{"not even when a probe is enabled", []scenario.Op{register("a"), wait, off, disable("a"), enable("a"), wait},
			[]string{"oa", "ua"}},
		{"nor when what blocked it goes", []scenario.Op{register("a"), register("inside"), off, unregister("inside"),
			wait}, nil},
		{"those registered meanwhile follow", []scenario.Op{off, register("a"), register("post"), register("b"), onAll,
			wait}, []string{"oa", "ob"}},
		{"what is queued is taken back", []scenario.Op{register("a"), off, wait}, nil},
		{"what is queued, and queued again", []scenario.Op{register("a"), off, onAll, wait}, []string{"oa"}},
		{"0 again does nothing", []scenario.Op{register("a"), wait, off, off, wait}, []string{"oa", "ua"}},
		{"1 again does nothing", []scenario.Op{register("a"), wait, onAll, wait}, []string{"oa"}},
		{"a disabled probe has no jump to lose", []scenario.Op{register("a"), wait, disable("a"), off, enable("a"),
			onAll, wait}, []string{"oa", "ua", "oa"}},
		{"an unregistered one loses it once", []scenario.Op{register("a"), wait, unregister("a"), off, onAll, wait},
			[]string{"oa", "ua"}},
		{"one registered again on its way out", []scenario.Op{register("a"), wait, unregister("a"), register("a"), off,
			wait}, []string{"oa", "ua"}},
	} {
		t.Run(test.says, func(t *testing.T) {
			probes := []scenario.Probe{on("a", "victim", 0), on("b", "scramble", 0), on("inside", "victim", 1),
				post("post", "tally", 0)}
			sc := with(t, probes, task(test.ops...), onCPU(1, call("victim", 1, 2), call("scramble", 3),
				call("victim", 3, 4)))
			names := map[uint64]string{}
			for i, f := range []string{"victim", "scramble"} {
				for k := range sc.Texts {
					if sc.Texts[k].Name == f {
						names[uint64(sc.Texts[k].At)] = string(rune('a' + i))
					}
				}
			}
			var got []string
			for _, e := range play(t, sc, 40).of(kpev.Optimized, kpev.Unoptimized) {
				what := "o"
				if e.Kind == kpev.Unoptimized {
					what = "u"
				}
				got = append(got, what+names[e.A])
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestSysctlBreakpoint: at 0 a probe is a breakpoint again: a pre_handler that
// changes the path is obeyed (spec 4.10).
func TestSysctlBreakpoint(t *testing.T) {
	skip := []scenario.Step{{Kind: scenario.StepSetIP, Target: "helper"}}
	probes := []scenario.Probe{{Name: "a", Func: "victim", Pre: count}, {Name: "b", Func: "victim", Pre: skip}}
	sc := with(t, probes, task(register("a"), register("b"), wait, call("victim", 1, 2), off, changed("victim", 1, 2),
		onAll, wait, call("victim", 1, 2)))
	require.Equal(t, []string{"pre 1", "pre 0", "pre 1", "skipped 0", "pre 1", "pre 0"}, play(t, sc, 40).handlers())
}

// TestSysctlWriters: two tasks write it, a third registers and unregisters. In
// every schedule no jump stands while it is off (optimization-off), and the
// work comes to its end.
func TestSysctlWriters(t *testing.T) {
	sc := with(t, []scenario.Probe{on("a", "victim", 0), on("b", "scramble", 0)},
		task(register("a"), wait, register("b"), unregister("a"), register("a"), wait, unregister("a"),
			unregister("b")),
		onCPU(1, off, call("victim", 1, 2), onAll, call("scramble", 3), off, onAll),
		scenario.Task{Name: "second", CPU: 1, Ops: []scenario.Op{onAll, off, call("victim", 1, 2), onAll}, Repeat: 1})
	sc.Sources = []scenario.Source{{Kind: scenario.SourcePreempt, CPU: 1, AtMost: 3}}
	jumps := 0
	playEach(t, sc, 600, func(w *witness) { jumps += len(w.of(kpev.Optimized)) })
	require.NotZero(t, jumps)
}
