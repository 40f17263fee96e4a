package rig

import (
	"kpsim/internal/scenario"
	"kpsim/sim"
)

// StateRoots returns pointers to what a run changes beside the machine and the tasks'
// programs: the kernel, the engine, the probes, the monitors. They stay where they are
// as long as the rig does.
func (r *Rig) StateRoots() []any {
	list := []any{r.Kernel, r.calls, r.ftrace, r.engine}
	if r.behind {
		list = append(list, &r.front)
	}
	for i := range r.probes {
		list = append(list, r.kprobe(i))
		switch r.Scenario.Probes[i].Kind {
		case scenario.ProbeJprobe:
			list = append(list, &r.jprobes[i])
		case scenario.ProbeKretprobe:
			list = append(list, &r.rets[i])
		}
	}
	for _, m := range r.monitors.State() {
		list = append(list, m)
	}
	return list
}

// AddState adds what the tasks' programs have come to, which the machine doesn't know of.
func (r *Rig) AddState(h *sim.Hash) {
	for _, p := range r.programs {
		h.Add(p.calls)
		h.Add(p.came)
	}
}
