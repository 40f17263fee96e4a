package twoengines

import (
	"slices"

	"kpsim/internal/scenario"
)

// Serial makes of a scenario one in which a single task does what all its tasks do, in
// turn, and nothing interrupts it. After each call of the API it waits for the
// optimizer: so nothing is left that a schedule decides.
func Serial(sc *scenario.Scenario) *scenario.Scenario {
	s := *sc
	t := scenario.Task{Name: "one", Repeat: 1}
	next, registered := make([]int, len(sc.Tasks)), make(map[string]bool)
	for going := true; going; {
		going = false
		for i := range sc.Tasks {
			ops := sc.Tasks[i].Ops
			if next[i] >= len(ops)*max(sc.Tasks[i].Repeat, 1) {
				continue
			}
			op := ops[next[i]%len(ops)]
			next[i], going = next[i]+1, true
			if !serially[op.Kind] || again(sc, registered, &op) {
				continue
			}
			t.Ops = append(t.Ops, op)
			if changes[op.Kind] {
				t.Ops = append(t.Ops, scenario.Op{Kind: scenario.OpWaitOptimized})
			}
		}
	}
	s.Tasks, s.Sources, s.Expect = []scenario.Task{t}, nil, scenario.Expect{}
	s.Probes = slices.Clone(sc.Probes)
	return &s
}

// again reports whether an operation unregisters a return probe that isn't registered,
// which no caller may: kernels since 6.1 give its instances back a second time.
func again(sc *scenario.Scenario, registered map[string]bool, op *scenario.Op) bool {
	switch op.Kind {
	case scenario.OpRegister:
		registered[op.Target] = true
	case scenario.OpUnregister:
		was := registered[op.Target]
		registered[op.Target] = false
		for i := range sc.Probes {
			if p := &sc.Probes[i]; p.Name == op.Target && p.Kind == scenario.ProbeKretprobe {
				return !was
			}
		}
	}
	return false
}

// serially are the operations that one task can do by itself.
var serially = map[scenario.OpKind]bool{
	scenario.OpCall: true, scenario.OpSchedule: true, scenario.OpRegister: true, scenario.OpUnregister: true, scenario.OpEnable: true,
	scenario.OpDisable: true, scenario.OpWaitOptimized: true, scenario.OpOptimization: true, scenario.OpEnabled: true,
	scenario.OpRegisterAll: true, scenario.OpUnregisterAll: true, scenario.OpUser: true, scenario.OpExpect: true,
	scenario.OpEnableLabel: true, scenario.OpDisableLabel: true, scenario.OpSetCall: true,
}

// changes are those after which the optimizer may have something to do.
var changes = map[scenario.OpKind]bool{
	scenario.OpRegister: true, scenario.OpUnregister: true, scenario.OpEnable: true, scenario.OpDisable: true,
	scenario.OpOptimization: true, scenario.OpEnabled: true, scenario.OpRegisterAll: true, scenario.OpUnregisterAll: true,
	scenario.OpEnableLabel: true, scenario.OpDisableLabel: true, scenario.OpSetCall: true,
}
