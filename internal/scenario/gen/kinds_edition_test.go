package gen

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

// editionKinds are what a scenario may hold, and which machines have it; nil: all.
var editionKinds = []struct {
	kind string
	on   func(m *scenario.Machine) bool
}{
	{"register", nil}, {"unregister", nil},
	{"enable", hasBatches}, {"disable", hasBatches}, {"registered disabled", hasBatches},
	{"register_all", hasBatches}, {"unregister_all", hasBatches},
	{"two at one address", nil}, {"two at one address, one with a post_handler", nil},
	{"one in another's region", nil}, {"post_handler", nil},
	{"kretprobe", nil}, {"kretprobe with an entry_handler", hasBatches},
	{"jprobe", hasJprobes}, {"jprobe with text as its entry", hasJprobes},
	{"jprobe on a function with a kprobe at its entry", hasJprobes},
	{"jprobe beside a jprobe", hasJprobes}, {"kprobe in a jprobe's entry", hasJprobes},
	{"sysctl 0", hasOptprobes}, {"sysctl 1", hasOptprobes}, {"wait_optimized", hasOptprobes},
	{"enabled 0", nil}, {"enabled 1", nil}, {"several write enabled", nil},
	{"module", nil}, {"probe in a module", nil},
	{"label_on", hasLabels}, {"label_off", hasLabels},
	{"handler calls a function", nil}, {"timer", nil}, {"timer runs a function", nil},
	{"nmi", nil}, {"nmi runs a function", func(m *scenario.Machine) bool { return m.Patch == era.PatchBreakpoint }},
	{"preempted", func(m *scenario.Machine) bool { return m.Preempt == scenario.PreemptFull }},
	{"2 CPUs", nil}, {"3 CPUs", nil}, {"4 CPUs", nil}, {"5 CPUs", nil}, {"6 CPUs", nil},
	{"f+0", nil}, {"f+1 to f+8", nil}, {"within an instruction", func(m *scenario.Machine) bool { return !m.AnyByte }},
	{"coherent", nil}, {"stale", nil}, {"mixing", nil},
}

func hasBatches(m *scenario.Machine) bool   { return m.Batches }
func hasJprobes(m *scenario.Machine) bool   { return m.Jprobes }
func hasOptprobes(m *scenario.Machine) bool { return m.Kernel.Optprobes }
func hasLabels(m *scenario.Machine) bool    { return m.Edition != rules.Edition26 }

// TestKindsOfEditions: of the scenarios of each edition at least 3 % hold each kind of call
// and probe that it has, and none what it lacks. With -v it prints how many do.
func TestKindsOfEditions(t *testing.T) {
	const programs, least = 3000, 3 // percent
	machines := Machines()
	each := programs/len(machines) + 1
	byEdition := map[rules.Edition]map[string]int{}
	drawn := map[rules.Edition]int{}
	for _, m := range machines {
		counts := byEdition[m.Edition]
		if counts == nil {
			counts = map[string]int{}
			byEdition[m.Edition] = counts
		}
		for seed := range uint64(each) {
			sc, _ := Of(&Recipe{Seed: seed + 1}, On{Machines: []scenario.Machine{m}})
			if sc.Says != "" || isScene(newRecipes(&Recipe{Seed: seed + 1})) {
				continue // made from one of the library, which holds what it does, or about one thing
			}
			require.NoError(t, lang.Check(sc))
			drawn[m.Edition]++
			for kind := range kindsOf(sc) {
				counts[kind]++
			}
		}
	}
	for _, e := range rules.AllEditions() {
		var m *scenario.Machine
		for i := range machines {
			if machines[i].Edition == e {
				m = &machines[i] // the last one: preemption is full, if there is such a one
				if m.Preempt == scenario.PreemptFull {
					break
				}
			}
		}
		known := map[string]bool{}
		for _, k := range editionKinds {
			n := byEdition[e][k.kind]
			known[k.kind] = true
			t.Logf("%-10v %5.1f %% of %d: %s", e, 100*float64(n)/float64(drawn[e]), drawn[e], k.kind)
			if k.on != nil && !k.on(m) {
				require.Zero(t, n, "%v has no %s", e, k.kind)
				continue
			}
			require.GreaterOrEqual(t, 100*n, least*drawn[e], "%v: %s in %d of %d programs", e, k.kind, n, drawn[e])
		}
		for _, kind := range slices.Sorted(maps.Keys(byEdition[e])) {
			require.True(t, known[kind], "%s has no row", kind)
		}
	}
}

// kindsOf says what a scenario holds.
func kindsOf(sc *scenario.Scenario) map[string]bool {
	in := map[string]bool{}
	for i := range sc.Probes {
		p := &sc.Probes[i]
		in["registered disabled"] = in["registered disabled"] || p.Disabled
		in["f+0"] = in["f+0"] || p.Offset == 0
		in["f+1 to f+8"] = in["f+1 to f+8"] || p.Offset > 0 && p.Offset <= reachMost
		if p.Func != "" && !slices.Contains(Boundaries(sc, p.Func), p.Offset) {
			in["within an instruction"] = true
		}
		switch p.Kind {
		case scenario.ProbeKprobe:
			in["post_handler"] = in["post_handler"] || p.Post != nil
			in["kprobe in a jprobe's entry"] = in["kprobe in a jprobe's entry"] || p.Func == entry
			in["probe in a module"] = in["probe in a module"] || p.Func == "work"
		case scenario.ProbeKretprobe:
			in["kretprobe"] = true
			in["kretprobe with an entry_handler"] = in["kretprobe with an entry_handler"] || p.Pre != nil
			in["probe in a module"] = in["probe in a module"] || p.Func == "work"
		case scenario.ProbeJprobe:
			in["jprobe"] = true
			in["jprobe with text as its entry"] = in["jprobe with text as its entry"] || p.Entry != ""
		}
		for _, s := range p.Pre {
			in["handler calls a function"] = in["handler calls a function"] || s.Kind == scenario.StepCall
		}
		for k := range sc.Probes[:i] {
			pairOf(in, &sc.Probes[k], p)
			pairOf(in, p, &sc.Probes[k])
		}
	}
	writers := 0
	for i := range sc.Tasks {
		writes := 0
		for _, op := range sc.Tasks[i].Ops {
			switch op.Kind {
			case act.Register, act.Unregister, act.Enable, act.Disable, act.RegisterAll, act.UnregisterAll,
				act.WaitOptimized:
				in[map[*scenario.Operation]string{act.Register: "register", act.Unregister: "unregister",
					act.Enable: "enable", act.Disable: "disable",
					act.RegisterAll: "register_all", act.UnregisterAll: "unregister_all",
					act.WaitOptimized: "wait_optimized"}[op.Kind]] = true
			case act.Optimization:
				in[fmt.Sprintf("sysctl %d", map[bool]int{true: 1}[op.On])] = true
			case act.Enabled:
				in[fmt.Sprintf("enabled %d", map[bool]int{true: 1}[op.On])], writes = true, 1
			case act.EnableLabel:
				in["label_on"] = true
			case act.DisableLabel:
				in["label_off"] = true
			case act.Load:
				in["module"] = true
			}
		}
		writers += writes
	}
	in["several write enabled"] = writers > 1
	for _, s := range sc.Sources {
		name := map[*scenario.SourceKind]string{scenario.SourceTimer: "timer", scenario.SourceNMI: "nmi",
			scenario.SourcePreempt: "preempted"}[s.Kind]
		if in[name] = true; s.Run != "" {
			in[name+" runs a function"] = true
		}
	}
	in[fmt.Sprintf("%d CPUs", max(2, sc.Machine.CPUs))] = true
	in[[...]string{"coherent", "stale", "mixing"}[sc.Machine.Fetch]] = true
	maps.DeleteFunc(in, func(_ string, there bool) bool { return !there })
	return in
}

// pairOf says what two probes are to each other.
func pairOf(in map[string]bool, a, b *scenario.Probe) {
	if a.Func != b.Func {
		return
	}
	if a.Kind == scenario.ProbeKprobe && b.Kind == scenario.ProbeKprobe && a.Offset == b.Offset {
		in["two at one address"] = true
		if (a.Post == nil) != (b.Post == nil) {
			in["two at one address, one with a post_handler"] = true
		}
	}
	if a.Offset < b.Offset && b.Offset < a.Offset+5 {
		in["one in another's region"] = true
	}
	if a.Kind == scenario.ProbeJprobe && b.Kind == scenario.ProbeJprobe {
		in["jprobe beside a jprobe"] = true
	}
	if a.Kind == scenario.ProbeJprobe && b.Kind == scenario.ProbeKprobe && b.Offset == 0 {
		in["jprobe on a function with a kprobe at its entry"] = true
	}
}
