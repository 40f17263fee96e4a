package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Interrupted calls at for each place at which a trap has interrupted a task's text: the task's own, and that of its
// interrupts. Where at returns another one, the text continues there. Text that has called a routine isn't interrupted.
// Context: the task doesn't run, or its CPU is kept in an interrupt's handler.
func (x *Stacks) Interrupted(t *Task, at func(ip arch.Addr) arch.Addr) {
	x.m.foot.touchQueue(t.cpu, false)
	for i := range t.frames {
		f := &t.frames[i]
		if !f.trap || i > 0 && t.frames[i-1].kind != guest {
			continue
		}
		if f.kind == routine {
			f.ctx.regs.IP = at(f.ctx.regs.IP)
			continue
		}
		var regs arch.Regs // the handler has finished
		tr, layout := &x.m.traps, x.m.traps.frameOf(f.user)
		if !tr.loadFrame(t.cpu, layout, f.base, &regs) {
			continue
		}
		if to := at(regs.IP); to != regs.IP {
			if x.m.weak.holds {
				x.m.weak.flushOver(t.cpu, f.base, layout.Size)
			}
			regs.IP = to
			tr.storeFrame(t.cpu, layout, f.base, &regs)
		}
	}
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
	if x.inside(regs, spans) {
		return true
	}
	for a := x.m.arch.StackPointer(regs) &^ (word - 1); a < t.stack && a >= t.stack-StackSize; a += word {
		if f := t.imageAt(a); f != nil {
			if x.inside(&f.ctx.regs, spans) {
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

// inside reports whether registers lead to one of the spans: the instruction pointer does, or the link register,
// which may be a leaf's only trace of its caller.
func (x *Stacks) inside(regs *arch.Regs, spans []kapi.Span) bool {
	return within(regs.IP, spans) ||
		x.m.arch.Pushed == 0 && within(arch.Addr(regs.R[x.m.arch.Link]), spans)
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
