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
// question is put within the interrupt: its CPU continues. A sim.Forced chooser is
// notified where continuing isn't answer 0.
//
// No order that matters is lost. While the handler runs, its CPU takes no interrupt (the
// mode is off if there are NMIs). An IPI that another CPU sends to this CPU meanwhile
// touches the same objects as the delivery. With two CPUs, the other CPU either waits for
// this handler's answer, or the handler answers no IPI. Every other step of another CPU
// commutes either with the delivery, which can come later, or with the IRET, which can come
// earlier. A routine that asks whether the CPU is idle would see a difference, so interrupts
// of an idle CPU remain several steps.
//
// An atomic interrupt leaves its CPU unchanged except for the clock. It commutes with the
// CPU's steps, with three exceptions: steps that change which interrupts may be delivered or
// what a delivery touches (site), steps that ask for the clock, and steps where fetches may
// be stale, because an IRET serialises.
//
// A monitor may judge changes to the place that the interrupt will return to. Its verdict
// must be the same whether another CPU changes that place just before the delivery or while
// the handler runs.
func (f *Footprint) ObserveAtomicIRQs(o sim.Observer) {
	f.Observe(o)
	f.atomicIRQs = f.m.cfg.Fetch == fetch.Coherent && f.m.cfg.Memory == SC && !f.m.cfg.Late &&
		len(f.m.cpus.list) <= 2 &&
		!slices.ContainsFunc(f.m.irqs.sources, func(s *Source) bool { return s.Kind == NMISource })
}

// A site is the state that decides, together with a stance, what an atomic interrupt's
// delivery, handler and IRET touch. Steps of the CPU that leave the site unchanged commute
// with the interrupt. A step that changes it writes the boundary.
type site struct {
	preempt int       // the task's count, if it matters: a tick in a section is no quiescent state
	frame   arch.Addr // where the frame will be, if other CPUs may see it
}

func (f *Footprint) site(c *CPU) (s site) {
	m := f.m
	if m.hooks.Nested {
		s.preempt = c.task.preempt
	}
	if base := m.traps.frameBase(smpev.VecTimer, c.regs.R[m.arch.SP]); m.foot.words.stacks || !m.tasks.isStack(base) {
		s.frame = base
	}
	return s
}

// beginAtomic is called when an interrupt is about to be delivered to c.
func (ir *Interrupts) beginAtomic(c *CPU, vec uint8, s *Source) {
	f := ir.m.foot
	if f != nil && f.atomicIRQs && c.task != c.idle && (vec == smpev.VecCall || vec == smpev.VecTimer) &&
		ir.prompt(vec, s, c.user) {
		f.inside = c
	}
}

// prompt reports whether the handler of an interrupt has no yield point. An interrupt of
// user mode has one, because the work before the return to user mode is part of it.
func (ir *Interrupts) prompt(vec uint8, s *Source, user bool) bool {
	return !user && ir.m.hooks.Prompt != nil && ir.m.hooks.Prompt(vec, s)
}
