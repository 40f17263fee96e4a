package rig

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// A Left is what a call has left: all that its digest is made of.
type Left struct {
	Regs  arch.Regs // those that aren't compared are 0
	Words []LeftWord
}

// A LeftWord is up to eight bytes of the stack or of data.
type LeftWord struct {
	At    arch.Addr
	Size  int
	Value uint64
}

// OnLeft makes f receive what each call of a task has left, before the call's event; nil ends that.
func (r *Rig) OnLeft(f func(task, call uint64, l *Left)) { r.checks.left = f }

// Twin returns a rig without probes, with whose calls New compares. The caller closes it.
func Twin(sc *scenario.Scenario) (*Rig, error) { return build(sc, "", true) }

// leaves returns what a call has left.
func (p *program) leaves(x *smp.Ctx) *Left {
	l := &Left{Regs: *p.task.Left()}
	for i := range l.Regs.R {
		if i >= p.r.arch.Used || p.r.lost>>i&1 != 0 {
			l.Regs.R[i] = 0
		}
	}
	p.compared(x, func(from, to arch.Addr) {
		for a := from; a < to; {
			size := wordAt(a, to)
			v, _ := x.Memory().Load(a, size)
			l.Words = append(l.Words, LeftWord{a, size, v})
			a += arch.Addr(size)
		}
	})
	return l
}

// compared calls do for each range of memory that a call's digest has.
func (p *program) compared(x *smp.Ctx, do func(from, to arch.Addr)) {
	sp := p.r.arch.StackPointer(x.Regs())
	if at := p.r.arch.LinkAt; at != 0 {
		sp &^= 15 // as smp's Call has it
		do(sp, sp+p.r.arch.KeptAt)
		sp += at + arch.Addr(p.r.arch.Word)
	}
	do(sp, p.task.StackTop())
	if p.r.tasks.ownData {
		for i := range p.r.Scenario.Datas {
			d := &p.r.Scenario.Datas[i]
			at := p.r.copyAt(d, x.CPU())
			do(at, at+arch.Addr(len(d.Bytes)))
		}
	}
}

// wordAt returns how many bytes at an address are read at once.
func wordAt(a, to arch.Addr) int {
	if a%8 == 0 && a+8 <= to {
		return 8
	}
	return 1
}
