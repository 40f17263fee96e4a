package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// What a copy leaves wrong because it ran somewhere else, or with interrupts off
// and the trap flag on. Where the step is by int3 (5.13 and later) nothing of
// that is stepped: it is emulated. Where it is by #DB it is put right.

// emulate does what the instruction does, on the saved registers. A push goes
// into the gap above the trap frame. One that faults, or that isa doesn't
// execute, leaves the CPU where it was: unprobed it wouldn't get past it either.
func (e *Engine) emulate(x kapi.Context, p *Aggr, regs *arch.Regs) {
	x.Work(WorkEmulate, 1)
	regs.IP = p.addr
	p.insn.Exec(regs, x.Memory())
}

// Opcodes.
const (
	pushf  = 0x9c
	popf   = 0x9d
	call   = 0xe8
	group5 = 0xff // calls and jumps through a register or memory, among others
)

// resumeExecution puts right what a step by #DB has left (the kernel's resume_execution):
// the trap flag, the flags that were pushed, a return address, and where to go on.
func (e *Engine) resumeExecution(x kapi.Context, b *kprobeCtlblk, p *Aggr, regs *arch.Regs) {
	if !p.loadsFlags() {
		regs.Flags &^= x86.TF
	}
	op, group := -1, 0
	if p.insn != nil {
		op = p.insn.Opcode()
		group, _ = p.insn.Group()
	}
	switch {
	case op == pushf:
		e.do.FixPushedFlags(b, p, regs, x.Memory())
	case op == call:
		e.do.FixReturnAddress(b, p, regs, x.Memory())
	case op == group5 && (group == 2 || group == 3):
		e.do.FixReturnAddress(b, p, regs, x.Memory())
		return // regs.IP is right
	case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xcf, op == group5 && (group == 4 || group == 5):
		e.boostStepped(x, b, regs, false)
		return // ret, lret, iret, jmp: it is, too
	default:
		e.boostStepped(x, b, regs, true)
	}
	regs.IP = p.addr + (regs.IP - b.copy)
}

// loadsFlags reports whether the instruction loads TF with the other flags.
func (p *Aggr) loadsFlags() bool {
	return p.insn != nil && p.insn.WritesIF() && (p.insn.Flow() == arch.FlowTrapReturn || p.insn.Opcode() == popf)
}

// fixPushedFlags puts TF and IF of the probed code into the flags that its pushf has
// pushed.
func fixPushedFlags(b *kprobeCtlblk, p *Aggr, regs *arch.Regs, m arch.Memory) {
	size := 8
	if p.insn.Prefixes()&x86.PrefixOpSize != 0 {
		size = 2
	}
	sp := x86.SP(regs)
	if v, ok := m.Load(sp, size); ok {
		m.Store(sp, size, v&^(x86.TF|x86.IF)|b.old)
	}
}

// fixReturnAddress makes the return address that a copied call has pushed that of the
// original.
func fixReturnAddress(b *kprobeCtlblk, p *Aggr, regs *arch.Regs, m arch.Memory) {
	sp := x86.SP(regs)
	if v, ok := m.Load(sp, 8); ok {
		m.Store(sp, 8, uint64(p.addr)+(v-uint64(b.copy)))
	}
}
