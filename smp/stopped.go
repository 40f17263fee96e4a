package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Relax says that the routine waits in a loop until another CPU has done something, as PAUSE does: before it goes on,
// every other CPU that can moves a step.
func (x *Ctx) Relax() { x.m.turns.relax(x.cpu) }

// Interrupted returns the registers that a trap or interrupt has saved of a task's text, the innermost if there are
// several; nil: the task stands in no text, or in a routine that text has called. Changes take effect when the text
// continues. Context: the task doesn't run, or its CPU is kept in an interrupt's handler.
func (x *Stacks) Interrupted(t *Task) *arch.Regs {
	x.m.foot.touchQueue(t.cpu, false)
	for i := len(t.frames) - 1; i >= 0; i-- {
		switch f := &t.frames[i]; {
		case f.kind == guest:
			return nil
		case f.kind == routine && f.trap && (i == 0 || t.frames[i-1].kind == guest):
			return &f.ctx.regs
		}
	}
	return nil
}

// Holds reports whether a word of a task's stack lies in one of the spans: a return address, an address saved by a
// trap, or a number that looks like one. Context: as Interrupted.
func (x *Stacks) Holds(t *Task, spans []kapi.Span) bool {
	was := t.regs
	if t.cpu.task == t {
		t.regs = t.cpu.regs
	}
	in := x.StandsIn(t, spans, nil)
	t.regs = was
	return in
}
