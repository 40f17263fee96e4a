package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// renew resets the engine's jprobes to what New would make.
//
//	jprobe_return:         int3; nop
//	jprobe_handler_entry:  call jprobeCall; int3
//
// On i386 both switch to the probed function's stack first, because the trap frame, which has no stack pointer, must
// be where that function's was (jprobe_return of 2.6).
//
//	jprobe_return:         call jprobeReturn; xchg %ebx,%esp; int3
//	jprobe_handler_entry:  call jprobeCall;   xchg %ebx,%esp; int3
func (j *Jprobes) renew() {
	if !j.s.Jprobes {
		return
	}
	j.returns, j.entry = j.d.Bind.Stub(jprobeRet), j.d.Bind.Stub(jprobeEntry)
	j.code = j.code[:0]
	if j.row.switchesStack {
		j.callAndSwitch(j.returns, j.d.Bind.Bind("jprobe_saved_esp", j.onReturn))
	}
	j.returned = j.returns + arch.Addr(len(j.code))
	j.code = append(j.code, x86.Int3, 0x90)
	j.d.Bind.Link(j.returns, j.code)

	j.code = j.code[:0]
	j.callAndSwitch(j.entry, j.d.Bind.Bind("jprobe_handler", j.onCall))
	j.ended = j.entry + arch.Addr(len(j.code))
	j.code = append(j.code, x86.Int3)
	j.d.Bind.Link(j.entry, j.code)
	if len(j.saved) != j.d.CPUs {
		j.saved = make([]jprobed, j.d.CPUs)
	}
	for c := range j.saved {
		j.saved[c].k = nil
	}
}

// callAndSwitch appends a call, in text that begins at an address, and the instruction that
// switches to the stack that the call returns.
func (j *Jprobes) callAndSwitch(at, to arch.Addr) {
	call, _ := x86.CallRel32(at, to)
	if j.code = append(j.code, call[:]...); j.row.switchesStack {
		j.code = append(j.code, 0x87, 0xdc) // xchg %ebx,%esp
	}
}

// jprobeReturn returns the stack of the probed function. Outside a jprobe's entry it changes no stack.
func (j *Jprobes) jprobeReturn(x kapi.Context, regs *arch.Regs) {
	regs.R[x86.RBX] = regs.R[x86.RSP]
	if j.jumped(x) {
		regs.R[x86.RBX] = j.saved[x.CPU()].regs.R[x86.RSP]
	}
}

// setjmpPreHandler is the pre_handler of a jprobe's kprobe: it keeps registers and stack
// and goes to the entry. The CPU stays busy with the probe, and preemption off.
// Context: a pre_handler's, the last one of its aggr.
func (j *Jprobes) setjmpPreHandler(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
	s := &j.saved[x.CPU()]
	s.k, s.regs = p, *regs
	s.n = j.do.Jprobe.JprobeStack(j.e, x, regs)
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
		regs.IP = j.entry
	}
	return 1
}

// longjmpBreakHandler is the break handler: if the address is that of jprobe_return, it restores registers and stack,
// and the probed instruction is executed next (spec 3.3). Context: interrupts off.
func (j *Jprobes) longjmpBreakHandler(x kapi.Context, at arch.Addr, regs *arch.Regs) bool {
	if !j.jumped(x) || at != j.returned && at != j.ended {
		return false
	}
	s := &j.saved[x.CPU()]
	j.do.Jprobe.JprobeRegs(regs, &s.regs)
	for i := range s.n {
		x.Memory().Store(x86.SP(regs)+arch.Addr(i), 1, uint64(s.stack[i]))
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	// the entry never returns: the returns of earlier calls aren't where the CPU predicts them
	x.Work(kapi.WorkMispredict, 3)
	x.Emit(kpev.JprobeLeave, s.k.ID, regs.R[x86.RSP], 0)
	s.k = nil
	x.PreemptEnable()
	return true
}
