package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// renewJprobes makes the engine's jprobes what New would.
//
//	jprobe_return:         int3; nop
//	jprobe_handler_entry:  call jprobeCall; int3
func (e *Engine) renewJprobes() {
	if !e.s.Jprobes {
		return
	}
	j := &e.jp
	j.returns, j.entry = e.d.Bind.Stub(jprobeRet), e.d.Bind.Stub(jprobeEntry)
	j.code = append(j.code[:0], x86.Int3, 0x90)
	e.d.Bind.Link(j.returns, j.code)
	call, _ := x86.CallRel32(j.entry, e.d.Bind.Bind("jprobe_handler", j.onCall))
	j.code = append(append(j.code[:0], call[:]...), x86.Int3)
	e.d.Bind.Link(j.entry, j.code)
	if len(j.saved) != e.d.CPUs {
		j.saved = make([]jprobed, e.d.CPUs)
	}
	for c := range j.saved {
		j.saved[c].k = nil
	}
}

// setjmpPreHandler is the pre_handler of a jprobe's kprobe: it keeps registers and stack
// and goes to the entry. The CPU stays busy with the probe, and preemption off.
// Context: a pre_handler's, the last one of its aggr.
func (e *Engine) setjmpPreHandler(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
	s := &e.jp.saved[x.CPU()]
	s.k, s.regs = p, *regs
	s.n = e.do.JprobeStack(e, x, regs)
	for i := range s.n {
		v, _ := x.Memory().Load(x86.SP(regs)+arch.Addr(i), 1)
		s.stack[i] = byte(v)
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	x.Emit(kpev.JprobeEnter, p.ID, regs.R[x86.RSP], 0)
	x.PreemptDisable()
	regs.Flags &^= x86.IF
	if regs.IP = p.jp.Entry; p.jp.Handler != nil {
		regs.IP = e.jp.entry
	}
	return 1
}

// longjmpBreakHandler is the break handler: if the breakpoint at an address is that of
// jprobe_return it puts registers and stack back, and the probed instruction is
// to be executed (spec 3.3). Context: interrupts off.
func (e *Engine) longjmpBreakHandler(x kapi.Context, at arch.Addr, regs *arch.Regs) bool {
	if !e.jumped(x) || at != e.jp.returns && at != e.jp.entry+callSize {
		return false
	}
	s := &e.jp.saved[x.CPU()]
	e.do.JprobeRegs(regs, &s.regs)
	for i := range s.n {
		x.Memory().Store(x86.SP(regs)+arch.Addr(i), 1, uint64(s.stack[i]))
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	x.Work(kapi.WorkMispredict, 3) // the entry never returns: the returns of earlier calls aren't where the CPU predicts them
	x.Emit(kpev.JprobeLeave, s.k.ID, regs.R[x86.RSP], 0)
	s.k = nil
	x.PreemptEnable()
	return true
}
