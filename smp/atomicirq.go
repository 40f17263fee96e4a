package smp

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
)

// ObserveAtomicIRQs is Observe with as few conflicts as possible: an interrupt whose
// handler has no yield point is one step of its mover, from delivery to IRET. No
// question is put within it: its CPU goes on, and a chooser that is sim.Forced is
// told of that where it isn't answer 0.
//
// No order that matters is left out. While the handler runs, its CPU takes no
// interrupt (the mode is off where there are NMIs). Of what other CPUs do meanwhile,
// an IPI sent to this CPU touches what the delivery does; and with two CPUs the
// other one either waits for this handler's answer, or the handler answers no IPI.
// The rest commutes with the delivery, which can come later, or with the IRET, which
// can come earlier. A routine that asks whether the CPU is idle would see a
// difference, so interrupts of an idle CPU stay several steps.
//
// An atomic interrupt leaves its CPU as it was, but for the clock. It commutes with
// the CPU's steps, unless they change what may be delivered, or what that touches
// (site), or ask for the clock; or where fetches may be stale, since an IRET
// serialises.
//
// A monitor may judge what becomes of the place that the interrupt will return to.
// Its verdict must be the same when another CPU has done to that place, just before
// the delivery, what it could have done while the handler ran.
func (f *Footprint) ObserveAtomicIRQs(o sim.Observer) {
	f.Observe(o)
	f.atomicIRQs = f.m.cfg.Fetch == fetch.Coherent && f.m.cfg.Memory == SC && !f.m.cfg.Late && len(f.m.cpus.list) <= 2 &&
		!slices.ContainsFunc(f.m.irqs.sources, func(s *Source) bool { return s.Kind == NMISource })
}

// A site is what, besides a stance, decides what an atomic interrupt's delivery,
// handler and IRET touch. As long as a CPU's steps leave it as it was, they
// commute with the interrupt; a step that changes it writes the boundary.
type site struct {
	preempt int       // the task's count, where it counts: a tick in a section is no quiescent state
	frame   arch.Addr // where the frame will be, if others may see it
}

func (f *Footprint) site(c *CPU) (s site) {
	m := f.m
	if m.hooks.Nested {
		s.preempt = c.task.preempt
	}
	if base := m.traps.frameBase(smpev.VecTimer, c.regs.R[regSP]); m.foot.words.stacks || !m.tasks.isStack(base) {
		s.frame = base
	}
	return s
}

// beginAtomic is called when an interrupt is about to be delivered to c.
func (ir *Interrupts) beginAtomic(c *CPU, vec uint8, s *Source) {
	f := ir.m.foot
	if f != nil && f.atomicIRQs && c.task != c.idle && (vec == smpev.VecCall || vec == smpev.VecTimer) && ir.prompt(vec, s, c.user) {
		f.inside = c
	}
}

// prompt reports whether the handler of an interrupt has no yield point. One of user mode has:
// what is to be done before the return goes with it.
func (ir *Interrupts) prompt(vec uint8, s *Source, user bool) bool {
	return !user && ir.m.hooks.Prompt != nil && ir.m.hooks.Prompt(vec, s)
}
