package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

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

// Holds reports whether a task stands in one of the spans: it was interrupted there, at whatever depth, or a word of
// its stack lies there: a return address, or a number that looks like one. The registers that traps have saved aren't
// looked at. Context: as Interrupted.
func (x *Stacks) Holds(t *Task, spans []kapi.Span) bool {
	x.m.foot.touchQueue(t.cpu, false)
	regs, word := &t.regs, arch.Addr(x.m.arch.Word)
	if t.cpu.task == t {
		regs = &t.cpu.regs
	}
	if within(regs.IP, spans) {
		return true
	}
	for a := spOf(regs) &^ (word - 1); a < t.stack && a >= t.stack-StackSize; a += word {
		if f := t.imageAt(a); f != nil {
			if within(f.ctx.regs.IP, spans) {
				return true
			}
			a = f.base + arch.Addr(x.m.arch.Frame.Size)&^(word-1) - word
			continue
		}
		if v, _ := x.m.mem.Load(a, int(word)); within(arch.Addr(v), spans) {
			return true
		}
	}
	return false
}

// imageAt returns the trap whose image of the registers begins at an address of the stack, nil if none does.
func (t *Task) imageAt(a arch.Addr) *frame {
	for i := range t.frames {
		if f := &t.frames[i]; f.kind == routine && f.trap && f.base == a {
			return f
		}
	}
	return nil
}
