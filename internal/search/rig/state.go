package rig

import (
	"kpsim/sim"
)

// StateRoots returns pointers to what a run changes beside the machine and the tasks'
// programs: the kernel, the engine, the probes, the monitors. They stay where they are
// as long as the rig does.
func (r *Rig) StateRoots() []any {
	list := []any{r.Kernel, r.labels, r.calls, r.ftrace}
	if r.fprobes.Any() {
		list = append(list, r.fprobes)
	}
	if r.patches.Any() {
		list = append(list, r.patches)
	}
	if r.debugger.Any() {
		list = append(list, r.debugger)
	}
	r.engine.State(func(root any) { list = append(list, root) })
	if r.behind {
		list = append(list, &r.front)
	}
	list = append(list, r.monitors.State()...)
	return list
}

// AddState adds the state of the tasks' programs, which the machine doesn't
// know.
func (r *Rig) AddState(h *sim.Hash) {
	for _, p := range r.programs {
		h.Add(p.calls)
		h.Add(p.came)
	}
}
