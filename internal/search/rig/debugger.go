package rig

import (
	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// addBreakpoints says where tasks set breakpoints of the debugger.
func (r *Rig) addBreakpoints() {
	for i := range r.Scenario.Tasks {
		for k := range r.Scenario.Tasks[i].Ops {
			if op := &r.Scenario.Tasks[i].Ops[k]; op.Kind.OfDebugger() {
				r.site(op.Target, op.Offset)
				r.debugger.Add(r.breakpoint(op))
				r.brk = r.debugger.HasHitBreak
			}
		}
	}
}

// breakpoint is where an operation of the debugger sets a breakpoint, or clears one.
func (r *Rig) breakpoint(op *scenario.Op) arch.Addr {
	return r.funcs[op.Target] + arch.Addr(op.Offset)
}
