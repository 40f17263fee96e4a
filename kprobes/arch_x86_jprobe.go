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
//
// On i386 both go to the stack of the probed function first: the trap frame is to be
// where that one's was, for it has no stack pointer (jprobe_return of 2.6).
//
//	jprobe_return:         call jprobeReturn; xchg %ebx,%esp; int3
//	jprobe_handler_entry:  call jprobeCall;   xchg %ebx,%esp; int3
func (e *Engine) renewJprobes() {
	if !e.s.Jprobes {
		return
	}
	j := &e.jp
	j.returns, j.entry = e.d.Bind.Stub(jprobeRet), e.d.Bind.Stub(jprobeEntry)
	j.code = j.code[:0]
	if e.row.switchesStack {
		e.callAndSwitch(j.returns, e.d.Bind.Bind("jprobe_saved_esp", j.onReturn))
	}
	j.returned = j.returns + arch.Addr(len(j.code))
	j.code = append(j.code, x86.Int3, 0x90)
	e.d.Bind.Link(j.returns, j.code)

	j.code = j.code[:0]
	e.callAndSwitch(j.entry, e.d.Bind.Bind("jprobe_handler", j.onCall))
	j.ended = j.entry + arch.Addr(len(j.code))
	j.code = append(j.code, x86.Int3)
	e.d.Bind.Link(j.entry, j.code)
	if len(j.saved) != e.d.CPUs {
		j.saved = make([]jprobed, e.d.CPUs)
	}
	for c := range j.saved {
		j.saved[c].k = nil
	}
}

// callAndSwitch appends a call, in text that begins at an address, and what goes to the stack
// that it returns.
func (e *Engine) callAndSwitch(at, to arch.Addr) {
	j := &e.jp
	call, _ := x86.CallRel32(at, to)
	if j.code = append(j.code, call[:]...); e.row.switchesStack {
		j.code = append(j.code, 0x87, 0xdc) // xchg %ebx,%esp
	}
}

// jprobeReturn says where the stack of the probed function is. Out of place it says nothing.
func (e *Engine) jprobeReturn(x kapi.Context, regs *arch.Regs) {
	regs.R[x86.RBX] = regs.R[x86.RSP]
	if e.jumped(x) {
		regs.R[x86.RBX] = e.jp.saved[x.CPU()].regs.R[x86.RSP]
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
	if !e.jumped(x) || at != e.jp.returned && at != e.jp.ended {
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
