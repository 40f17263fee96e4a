package rig

import (
	"kpsim/sim"
)

// StateRoots returns pointers to the state that a run changes besides the machine and the
// tasks' programs: the kernel, the engine, the probes, the monitors. The pointers stay valid
// as long as the rig.
func (r *Rig) StateRoots() []any {
	list := []any{r.Kernel, r.patchers.labels, r.patchers.calls, r.patchers.Ftrace}
	if r.patchers.fprobes.Any() {
		list = append(list, r.patchers.fprobes)
	}
	if r.patchers.Patches.Any() {
		list = append(list, r.patchers.Patches)
	}
	if r.patchers.Debugger.Any() {
		list = append(list, r.patchers.Debugger)
	}
	if r.patchers.Uprobes.Any() {
		list = append(list, r.patchers.Uprobes)
	}
	r.wiring.engine.State(func(root any) { list = append(list, root) })
	if r.tasks.background {
		list = append(list, &r.tasks.foreground)
	}
	if r.probes.counts.ran != nil {
		list = append(list, &r.probes.counts)
	}
	if r.Scenario.PatchesByHand() {
		list = append(list, r.patchers.Hand)
	}
	list = append(list, r.Judges.monitors.State()...)
	return list
}

// AddState adds the state of the tasks' programs, which the machine doesn't
// know.
func (r *Rig) AddState(h *sim.Hash) {
	for _, p := range r.tasks.all {
		h.Add(p.calls)
		h.Add(p.came)
	}
}
