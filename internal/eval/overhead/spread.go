package overhead

import (
	"fmt"
	"math/bits"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/sim"
	"kpsim/smp/fetch"
)

// ownCalls is how many calls of each function a patcher's CPU makes before and after its patches.
const ownCalls = 8

// rounds is how often a caller makes its calls, if the patchers take that long: in a schedule without time, as that of
// the run without probes, it does so at a stretch.
const rounds = 1000

// mostOps bounds how many operations of a patcher are priced, its repetitions included.
const mostOps = 200

// onlyCalls reports whether a task only calls functions, or compares what it finds.
func onlyCalls(t *scenario.Task) bool {
	return !slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
		return op.Kind != act.Call && op.Kind != act.Schedule && op.Kind != act.Safepoint &&
			op.Kind != act.Serialise && !compares(&op)
	})
}

// compares reports whether an operation only compares what it finds with what the scenario as written has there.
func compares(op *scenario.Op) bool { return op.Kind.Touches == scenario.TouchCheck }

// ofPatch reports whether the time of an operation is that of a patch: hits and reads aren't.
func ofPatch(op *scenario.Op) bool {
	k := op.Kind
	switch {
	case compares(op), k.Touches == scenario.TouchRead:
		return false
	case k.Object == scenario.AUprobe:
		return k.Traits&scenario.Runs == 0
	}
	return byHand(op) || k.Object == scenario.ABreakpoint ||
		k.Traits&(scenario.Patches|scenario.Probes|scenario.Around|scenario.Sited|scenario.Live|scenario.Works) != 0
}

// byHand reports whether an operation is a step of a patch by hand.
func byHand(op *scenario.Op) bool {
	return op.Kind.Traits&scenario.ByHand != 0 && op.Kind != act.Safepoint
}

// patches reports whether a task has an operation whose time is that of a patch. The handler of a breakpoint or a fault
// alone patches nothing: compiled code does then.
func patches(t *scenario.Task) bool {
	return !onlyCalls(t) && slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
		return ofPatch(&op) && op.Kind != act.OnBreakpoint && op.Kind != act.OnFault
	})
}

// Patchers returns how many CPUs the tasks of a scenario that patch need, 0 if none patches.
func Patchers(s *scenario.Scenario) (cpus int) {
	if !slices.ContainsFunc(s.Tasks, func(t scenario.Task) bool { return patches(&t) }) {
		return 0
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if onlyCalls(t) {
			continue
		}
		cpus = max(cpus, t.CPU+1)
		for j := range t.Ops {
			cpus = max(cpus, t.Ops[j].CPU+1, bits.Len64(t.Ops[j].CPUs))
		}
	}
	if cpus > 0 {
		cpus = max(cpus, bits.Len64(s.Machine.Offline))
	}
	return cpus
}

// NoPatch is the error of a scenario that Patchers returns 0 for.
func NoPatch(s *scenario.Scenario) error {
	return fmt.Errorf("%s: no task of it patches, so there is nothing to price; a patcher that is compiled code isn't "+
		"told from other calls: write what it does as steps by hand, such as write and sync_core", s.Name)
}

// spread returns the scenario that is run; own: the patchers' own CPUs call before and after the patches.
func (c *PatcherConfig) spread(own bool) (*scenario.Scenario, error) {
	s := *c.Scenario
	switch need := Patchers(&s); {
	case need == 0:
		return nil, NoPatch(&s)
	case c.CPUs < need:
		return nil, fmt.Errorf("%s: its patchers need %s; give as many, or more", s.Name, ofCPUs(need))
	case c.CPUs > sim.MaxCPUs:
		return nil, fmt.Errorf("%d CPUs: a machine has 1 to %d", c.CPUs, sim.MaxCPUs)
	}
	s.Machine.CPUs, s.Machine.Fetch, s.Machine.Steps = c.CPUs, fetch.Coherent, scenario.MaxBudget
	s.Machine.Stall = 0 // a stalled grace period is reported by a timer's tick, and timers are left out
	s.Sources, s.Expect, s.Tasks = nil, scenario.Expect{}, nil
	calls := called(c.Scenario)
	var around []scenario.Op
	if own {
		around = slices.Repeat(calls, ownCalls)
	}
	var taken uint64
	for _, t := range c.Scenario.Tasks {
		if onlyCalls(&t) {
			continue
		}
		t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool { return compares(&op) })
		for i := range t.Ops {
			if t.Ops[i].Kind == act.Call {
				t.Ops[i] = plain(t.Ops[i])
			}
		}
		ops := slices.Repeat(t.Ops, max(1, min(t.Repeat, mostOps/len(t.Ops))))
		if taken>>t.CPU&1 == 0 {
			ops = slices.Concat(around, ops, around)
		}
		t.Ops, t.Repeat, t.Setup, t.Background = ops, 1, 0, false
		taken |= 1 << t.CPU
		s.Tasks = append(s.Tasks, t)
	}
	for cpu := range c.CPUs {
		if taken>>cpu&1 != 0 || len(calls) == 0 || c.Scenario.Machine.Offline>>cpu&1 != 0 {
			continue
		}
		s.Tasks = append(s.Tasks, scenario.Task{Name: fmt.Sprintf("caller%d", cpu), CPU: cpu, Background: true,
			Ops:    append(slices.Repeat(calls, max(1, ownCalls/len(calls))), scenario.Op{Kind: act.Schedule}),
			Repeat: rounds})
	}
	return &s, nil
}

// called returns the calls of a scenario's tasks that only call, each once.
func called(s *scenario.Scenario) (list []scenario.Op) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		for _, op := range t.Ops {
			if op.Kind != act.Call || !onlyCalls(t) {
				continue
			}
			op = plain(op)
			if !slices.ContainsFunc(list, func(o scenario.Op) bool {
				return o.Target == op.Target && slices.Equal(o.Args, op.Args)
			}) {
				list = append(list, op)
			}
		}
	}
	return list
}

// plain is a call whose result isn't compared: how many calls are before a patch isn't as in the scenario.
func plain(op scenario.Op) scenario.Op {
	return scenario.Op{Kind: act.Call, Target: op.Target, Args: op.Args, Changed: true}
}
