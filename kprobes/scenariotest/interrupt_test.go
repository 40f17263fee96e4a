package scenariotest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
)

// TestTimer: a probe in a timer's handler (spec 1.14). Interrupts are off in a
// breakpoint's handlers and while a copy is stepped (1.10), so that no hit
// comes from inside another one and none is missed.
func TestTimer(t *testing.T) {
	for _, opens := range []bool{false, true} {
		sc := with(t, []scenario.Probe{post("a", "helper", 0), on("b", "jumps", 3), post("c", "victim", 1)},
			task(register("a"), register("b"), register("c"), call("victim", 1, 2), call("jumps", 4), wait,
				call("victim", 3, 4), call("jumps", 5), unregister("b"), unregister("a"), unregister("c")),
			onCPU(1, call("victim", 1, 2), call("helper", 2), call("jumps", 3)))
		sc.Sources = []scenario.Source{
			{Kind: scenario.SourceTimer, CPU: 0, AtMost: 3, Run: "helper", Opens: opens},
			{Kind: scenario.SourceTimer, CPU: 1, AtMost: 3, Run: "jumps", Opens: opens},
			{Kind: scenario.SourcePreempt, CPU: 0, AtMost: 2},
		}
		hits := 0
		playEach(t, sc, 400, func(w *witness) {
			require.Empty(t, w.of(kpev.Missed))
			hits = max(hits, len(w.of(kpev.Handler)))
		})
		require.Greater(t, hits, 15, "some hits came from the timer")
	}
}

// TestNMI: an NMI that hits a probe comes at any time: in a handler, between
// breakpoint and step, in the slot, in a detour. What it interrupts isn't
// disturbed; if that was a hit its own is missed (spec 1.11).
func TestNMI(t *testing.T) {
	for _, run := range []string{"helper", "jumps", "victim"} {
		for _, kind := range []string{"stepped", "optimized"} {
			ops := []scenario.Op{register("a"), register("b"), register("c"), register("d")}
			if kind == "optimized" {
				ops = append(ops, wait)
			}
			ops = append(ops, call("victim", 1, 2), call("jumps", 4), call("flags", 7, 8),
				unregister("b"), unregister("a"), unregister("c"), unregister("d"))
			probes := []scenario.Probe{on("a", "helper", 0), on("b", "jumps", 3), on("c", "victim", 0),
				on("d", "flags", 0)}
			if kind == "stepped" {
				probes = []scenario.Probe{post("a", "helper", 0), post("b", "jumps", 3), post("c", "victim", 0),
					post("d", "flags", 0)}
			}
			sc := with(t, probes, task(ops...), onCPU(1, call("victim", 1, 2), call("jumps", 3)))
			sc.Sources = []scenario.Source{
				{Kind: scenario.SourceNMI, CPU: 0, AtMost: 1, Run: run},
				{Kind: scenario.SourceNMI, CPU: 1, AtMost: 1, Run: run},
			}
			missed := 0
			playEach(t, sc, 600/min(slow, 4), func(w *witness) { missed += len(w.of(kpev.Missed)) })
			require.NotZero(t, missed, "%s, %s: some NMI came in a hit", run, kind)
		}
	}
}

// TestSteppingInterrupted: the same in the other ways to step, and with boosted
// slots: by #DB an NMI may come between the trap's return and the copy, and the
// handler of the step may write the jump behind a copy that another CPU is
// stepping. The monitors look on.
func TestSteppingInterrupted(t *testing.T) {
	for _, way := range []struct {
		name  string
		step  era.Step
		boost era.Boost
		model scenario.Preempt
	}{
		{"by #DB", era.StepDebug, era.BoostNever, scenario.PreemptFull},
		{"by #DB, boosted", era.StepDebug, era.BoostStepped, scenario.PreemptVoluntary},
		{"by int3, boosted", era.StepInt3, era.BoostPrepare, scenario.PreemptVoluntary},
	} {
		for _, kind := range []*scenario.SourceKind{scenario.SourceNMI, scenario.SourceTimer} {
			t.Run(fmt.Sprintf("%s %v", way.name, kind), func(t *testing.T) {
				sc := with(t, []scenario.Probe{on("a", "helper", 0), post("b", "jumps", 3), on("c", "victim", 0),
					post("d", "victim", 0), on("e", "flags", 0)},
					task(register("a"), register("b"), register("c"), register("e"), call("victim", 1, 2),
						call("jumps", 4), register("d"),
						call("victim", 3, 4), call("flags", 7, 8), call("jumps", 5), unregister("d"),
						call("victim", 1, 2),
						unregister("b"), unregister("a"), unregister("c"), unregister("e")),
					onCPU(1, call("victim", 1, 2), call("jumps", 3), call("victim", 3, 4), call("flags", 7, 8)))
				sc.Machine.Step, sc.Machine.Boost, sc.Machine.Preempt, sc.Machine.Kernel.Optprobes = way.step,
					way.boost, way.model, false
				sc.Machine.Kernel.Edition = rules.Edition415
				if way.step == era.StepInt3 {
					sc.Machine.Kernel.Edition = rules.Edition514
				}
				sc.Sources = []scenario.Source{
					{Kind: kind, CPU: 0, AtMost: 2, Run: "victim"},
					{Kind: kind, CPU: 1, AtMost: 1, Run: "helper"},
				}
				missed, hits := 0, 0
				playEach(t, sc, 600/min(slow, 4), func(w *witness) {
					missed += len(w.of(kpev.Missed))
					hits = max(hits, len(w.of(kpev.Handler)))
				})
				require.Greater(t, hits, 10)
				require.Equal(t, kind == scenario.SourceNMI, missed > 0)
			})
		}
	}
}

// TestLabelFlips: what stands at a jump label changes while a probe behind it
// is registered. Where instructions begin is found out with text_mutex held:
// otherwise half of a jump would be decoded.
func TestLabelFlips(t *testing.T) {
	sc := with(t, []scenario.Probe{on("k", "labelled", 8), on("l", "labelled_cross", 0xb)},
		task(register("k"), call("labelled", 3), unregister("k"), register("l"), call("labelled_cross", 3, 4),
			unregister("l")))
	on, off := scenario.Op{Kind: act.EnableLabel, Target: "l"}, scenario.Op{Kind: act.DisableLabel, Target: "l"}
	onX, offX := scenario.Op{Kind: act.EnableLabel, Target: "x"}, scenario.Op{Kind: act.DisableLabel, Target: "x"}
	for i := range sc.Tasks[0].Ops { // the label changes the result
		sc.Tasks[0].Ops[i].Changed = sc.Tasks[0].Ops[i].Kind == act.Call
	}
	sc.Tasks = append(sc.Tasks, onCPU(1, on, off, onX, offX, on, onX, off, offX))
	sc.Labels = []scenario.Label{
		{Name: "l", Sites: []scenario.LabelSite{{Func: "labelled", Offset: 3, Target: "labelled_on"}}},
		{Name: "x", Sites: []scenario.LabelSite{{Func: "labelled_cross", Offset: 6, Target: "labelled_cross_on"}}},
	}
	playEach(t, sc, 1000, func(w *witness) {
		require.False(t, slices.ContainsFunc(w.errnos(), func(e errno) bool { return e != ok }), "%v", w.errnos())
	})
}

// TestLabelInRegion: a region that holds text which others rewrite isn't
// optimized; one beside it is, even if the label is being rewritten just then
// (spec 4.2).
func TestLabelInRegion(t *testing.T) {
	for offset, optimized := range map[int]int{0: 1, 3: 0} {
		sc := with(t, []scenario.Probe{on("k", "labelled_cross", offset)},
			task(register("k"), wait, unregister("k"), wait, register("k"), wait, unregister("k")))
		flip := []scenario.Op{{Kind: act.EnableLabel, Target: "x"}, {Kind: act.DisableLabel, Target: "x"}}
		sc.Tasks = append(sc.Tasks, onCPU(1, append(flip, flip...)...))
		sc.Labels = []scenario.Label{{Name: "x", Sites: []scenario.LabelSite{
			{Func: "labelled_cross", Offset: 6, Target: "labelled_cross_on"}}}}
		playEach(t, sc, 200, func(w *witness) {
			require.Len(t, w.of(kpev.Optimized), 2*optimized, "offset %d", offset)
		})
	}
}

// TestPreemptedHandler: the handlers of an optimized probe run with preemption
// off (spec 1.10): a hit by another task of the same CPU never finds the first
// one still in them.
func TestPreemptedHandler(t *testing.T) {
	sc := with(t, []scenario.Probe{on("a", "victim", 0)},
		task(register("a"), wait, call("victim", 1, 2), call("victim", 3, 4), unregister("a")),
		scenario.Task{Name: "other", Repeat: 20, Ops: []scenario.Op{{Kind: act.Schedule}, call("victim", 5, 6)}})
	sc.Sources = []scenario.Source{{Kind: scenario.SourcePreempt, CPU: 0, AtMost: 4}}
	playEach(t, sc, 200, func(w *witness) { require.Empty(t, w.of(kpev.Missed)) })
}

// TestThirdHit: a CPU can be in two hits, one inside the other. An NMI that hits
// a probe while the second is stepped is one too many: as in the kernel
// ("Unrecoverable kprobe detected") the CPU dies, and does so at once.
func TestThirdHit(t *testing.T) {
	for _, step := range []era.Step{era.StepInt3, era.StepDebug} {
		nest := []scenario.Step{{Kind: scenario.StepCall, Target: "helper"}}
		sc := with(t, []scenario.Probe{{Name: "a", Func: "victim", Pre: nest}, post("b", "helper", 0),
			post("c", "jumps", 0)},
			task(register("a"), register("b"), register("c"), call("victim", 1, 2)))
		sc.Machine.Step = step
		sc.Sources = []scenario.Source{{Kind: scenario.SourceNMI, CPU: 0, AtMost: 1, Run: "jumps"}}
		require.NoError(t, lang.Check(sc))
		result, err := explore.Run(explore.Spec{Scenario: sc, Strategy: "deviations", Runs: 2000, Stop: true})
		require.NoError(t, err)
		require.NotNil(t, result.Witness)
		require.Equal(t, "no-oops", result.Witness.Property.Name)
	}
}

// TestEditionsInterrupted: probes that come, join and go while functions run and
// are interrupted, in every edition, built with preemption and without. Slots are
// the kernel's there: dirty ones are left to its collector.
func TestEditionsInterrupted(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		for _, model := range []scenario.Preempt{scenario.PreemptVoluntary, scenario.PreemptFull} {
			t.Run(fmt.Sprintf("%v %v", ed, model), func(t *testing.T) {
				sc := with(t, []scenario.Probe{on("a", "helper", 0), on("b", "jumps", 3), on("c", "victim", 0),
					post("d", "victim", 0), on("e", "flags", 0)},
					task(register("a"), register("c"), register("b"), register("e"), wait, call("victim", 1, 2),
						register("d"),
						call("victim", 3, 4), unregister("d"), call("flags", 7, 8), unregister("c"), register("c"),
						call("jumps", 5),
						unregister("b"), unregister("a"), unregister("c"), unregister("e"), wait),
					onCPU(1, call("victim", 1, 2), call("jumps", 3), call("victim", 3, 4), call("flags", 7, 8)))
				sc.Machine.Edition, sc.Machine.Preempt = ed, model
				if sc.Machine.Settle(); !sc.Machine.Kernel.Optprobes {
					sc.Tasks[0].Ops = slices.DeleteFunc(sc.Tasks[0].Ops, func(op scenario.Op) bool {
						return op.Kind == wait.Kind
					})
				}
				sc.Sources = []scenario.Source{
					{Kind: scenario.SourceTimer, CPU: 0, AtMost: 1, Run: "victim"},
					{Kind: scenario.SourceNMI, CPU: 1, AtMost: 1, Run: "helper"},
					{Kind: scenario.SourcePreempt, CPU: 1, AtMost: 2},
				}
				hits := 0
				playEach(t, sc, 200/min(slow, 4), func(w *witness) { hits = max(hits, len(w.of(kpev.Handler))) })
				require.Greater(t, hits, 8)
			})
		}
	}
}
