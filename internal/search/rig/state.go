package rig

import (
	"kpsim/engine/livepatch"
	"kpsim/internal/scenario"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// StateRoots returns pointers to the state that a run changes besides the machine and the
// tasks' programs: the kernel, the engine, the probes, the monitors. The pointers stay valid
// as long as the rig.
func (r *Rig) StateRoots() []any {
	list := []any{r.Kernel, r.labels, r.calls, r.Ftrace}
	if r.fprobes.Any() {
		list = append(list, r.fprobes)
	}
	if r.Patches.Any() {
		list = append(list, r.Patches)
	}
	if r.Debugger.Any() {
		list = append(list, r.Debugger)
	}
	if r.Uprobes.Any() {
		list = append(list, r.Uprobes)
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

// span returns the addresses of a function.
func span(t *scenario.Text) kapi.Span {
	return kapi.Span{From: t.At, To: t.At + arch.Addr(len(t.Code))}
}

// patchOf returns the functions of a live patch.
func (r *Rig) patchOf(op *scenario.Op) (list []livepatch.Func) {
	op.Pairs(func(f, g string) {
		list = append(list, livepatch.Func{Old: span(r.Text(f)), New: span(r.Text(g))})
	})
	return list
}
