package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// The corrections of results that are wrong because a copy ran at another address, or with
// interrupts off and the trap flag on. With steps by int3 (5.13 and later) such instructions
// are emulated, not stepped. With steps by #DB their results are corrected.

// prepareEmulation reports whether an aggr's instruction is emulated under steps by int3. It
// refuses instructions that kernels until 5.12 would step by #DB and later ones refuse
// (-EOPNOTSUPP), and copies without room for the int3 (-ENOSPC).
func prepareEmulation(c *insnCache, ap *Aggr) (bool, error) {
	told := !c.before514() && !c.s.AnyByte // the rules have said whether it is
	switch {
	case ap.insn == nil:
		return false, nil
	case x86Of(ap).Emulated() && (ap.verdict.Emulated || !told):
		return true, nil
	case told:
		return false, nil // the rules have refused it
	case ap.verdict.Len == x86.MaxLen:
		return false, ENOSPC
	}
	switch ap.insn.Flow() {
	case arch.FlowIndirectJump, arch.FlowIndirectCall, arch.FlowTrapReturn, arch.FlowOther:
		return false, EOPNOTSUPP
	}
	return false, nil
}

// Opcodes.
const (
	pushf  = 0x9c
	popf   = 0x9d
	call   = 0xe8
	group5 = 0xff // calls and jumps through a register or memory, among others
)

// resumeExecution corrects the state after a step by #DB (the kernel's resume_execution):
// the trap flag, the pushed flags, a return address, and the instruction pointer.
func (h *Hits) resumeExecution(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) {
	if !ap.loadsFlags() {
		regs.Flags &^= x86.TF
	}
	op, group := h.do.Copy.ResumeOpcode(ap)
	switch {
	case op == pushf:
		h.do.Copy.FixPushedFlags(h.e, kcb, ap, regs, x.Memory())
	case op == call:
		h.do.Copy.FixReturnAddress(h.e, kcb, ap, regs, x.Memory())
	case op == group5 && (group == 2 || group == 3):
		h.do.Copy.FixReturnAddress(h.e, kcb, ap, regs, x.Memory())
		return // regs.IP is right
	case op == 0xc2, op == 0xc3, op == 0xca, op == 0xcb, op == 0xcf, op == group5 && (group == 4 || group == 5):
		h.e.slots.boostStepped(x, kcb, regs, false)
		return // ret, lret, iret, jmp: it is, too
	default:
		h.e.slots.boostStepped(x, kcb, regs, true)
	}
	regs.IP = ap.addr + (regs.IP - kcb.copy)
}

// resumeOpcode returns the opcode of a stepped instruction, and the group in its ModRM byte. op
// is -1 if the bytes are no instruction.
func resumeOpcode(ap *Aggr) (op, group int) {
	if ap.insn == nil {
		return -1, 0
	}
	in := x86Of(ap)
	group, _ = in.RegField()
	return in.Opcode(), group
}

// x86Of returns the probed instruction. Context: it is one, of x86.
func x86Of(ap *Aggr) *x86.Inst { return ap.insn.(*x86.Inst) }

// loadsFlags reports whether the instruction loads TF with the other flags.
func (ap *Aggr) loadsFlags() bool { return ap.insn != nil && loadsAll(x86Of(ap)) }

func loadsAll(in *x86.Inst) bool {
	return in.WritesIF() && (in.Flow() == arch.FlowTrapReturn || in.Opcode() == popf)
}

// writesFlags returns which of the flags that a step saves the instruction leaves right.
func writesFlags(in arch.Inst) uint64 {
	switch i := in.(*x86.Inst); {
	case !i.WritesIF():
		return 0
	case loadsAll(i):
		return ^uint64(0)
	}
	return x86.IF
}

// fixPushedFlags sets TF and IF in the flags that a pushf has pushed to those of the probed
// code.
func (h *Hits) fixPushedFlags(kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
	size := h.row.word
	if x86Of(ap).Prefixes()&x86.PrefixOpSize != 0 {
		size = 2
	}
	sp := x86.SP(regs)
	if v, ok := m.Load(sp, size); ok {
		m.Store(sp, size, v&^(x86.TF|x86.IF)|kcb.oldFlags)
	}
}

// fixReturnAddress replaces the return address that a copied call has pushed by the original
// call's.
func (h *Hits) fixReturnAddress(kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
	sp := x86.SP(regs)
	if v, ok := m.Load(sp, h.row.word); ok {
		m.Store(sp, h.row.word, uint64(ap.addr)+(v-uint64(kcb.copy)))
	}
}
