package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// The corrections of results that are wrong because a copy ran at another address, or with
// interrupts off and the trap flag on. With steps by int3 (5.13 and later) such instructions
// are emulated, not stepped. With steps by #DB their results are corrected.

// emulate does what the instruction does, on the saved registers. A push goes
// into the gap above the trap frame. One that faults, or that isa doesn't
// execute, leaves the CPU where it was: unprobed it wouldn't get past it either.
func (h *Hits) emulate(x kapi.Context, ap *Aggr, regs *arch.Regs) {
	x.Work(WorkEmulate, 1)
	regs.IP = ap.addr
	ap.insn.Exec(regs, x.Memory())
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
	group, _ = ap.insn.RegField()
	return ap.insn.Opcode(), group
}

// loadsFlags reports whether the instruction loads TF with the other flags.
func (ap *Aggr) loadsFlags() bool {
	return ap.insn != nil && ap.insn.WritesIF() && (ap.insn.Flow() == arch.FlowTrapReturn || ap.insn.Opcode() == popf)
}

// fixPushedFlags sets TF and IF in the flags that a pushf has pushed to those of the probed
// code.
func (h *Hits) fixPushedFlags(kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
	size := h.row.word
	if ap.insn.Prefixes()&x86.PrefixOpSize != 0 {
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

// kprobeFaultHandler is the first to be asked about a fault (kprobe_fault_handler).
//
// If a stepped copy has faulted, the fault belongs to the original. The CPU goes back to the
// original as if it hadn't hit the probe, and hits it again once the fault is handled. Where
// probes have fault handlers (spec 1.12), they are called; one that returns 1 has handled the
// fault.
//
// If a handler has faulted, its probe's fault handler is called.
//
// A fault that is not handled here is an ordinary one. Context: interrupts off.
func (h *Hits) kprobeFaultHandler(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	kcb := h.kcb.This(x)
	ap := kcb.current
	switch {
	case ap == nil:
		return 0
	case !kcb.stepping():
		return h.handlerFault(x, kcb, ap, regs, trapnr)
	case regs.IP != kcb.copy: // this is a fault in an NMI's handler, above the step
		return 0
	}
	h.do.Copy.RewindIP(ap, regs)
	h.do.Copy.ClearTF(regs)
	regs.Flags |= kcb.oldFlags
	handled := h.s.FaultHandlers && kcb.status == kprobeHitSS && h.stepFault(x, kcb, ap, regs, trapnr)
	kcb.restorePreviousKprobe()
	if handled {
		return kpev.OwnerKprobe
	}
	return 0
}

// handlerFault handles a fault of a pre_handler or a post_handler, or of an NMI on top of one.
// The kernel counts it in nmissed of every probe of the aggr.
func (h *Hits) handlerFault(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, trapnr int) uint64 {
	p := kcb.child
	if !h.s.FaultHandlers || p == nil {
		return 0
	}
	for _, one := range ap.probes.Deref(x).probes {
		kapi.Plus(&one.nmissed, x, 1)
	}
	if h.asksFault(p) && p.Fault(x, p, regs, trapnr) != 0 {
		return kpev.OwnerKprobe
	}
	return 0
}

// stepFault asks the probes of an aggr about a fault of the copy, until one has
// handled it.
func (h *Hits) stepFault(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, trapnr int) bool {
	kcb.status = kprobeHitActive | kprobeFaulted // hits in the fault handlers are missed
	handled := false
	for _, p := range ap.probes.Deref(x).probes {
		if handled || !h.asksFault(p) || p.disabled.ReadOnce(x) {
			continue
		}
		x.Work(kapi.WorkHandler, 1)
		kcb.child = p
		handled = p.Fault(x, p, regs, trapnr) != 0
		kcb.child = nil
	}
	kcb.status = kprobeHitSS
	return handled
}

// asksFault reports whether a probe has a fault handler to ask.
func (h *Hits) asksFault(p *Kprobe) bool { return p.Fault != nil }
