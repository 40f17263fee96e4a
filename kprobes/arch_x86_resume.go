package kprobes

import (
	"kpsim/kprobes/kpev"
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

// resumeExecution puts right what a step by #DB has left (the kernel's resume_execution):
// the trap flag, the flags that were pushed, a return address, and where to go on.
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

// resumeOpcode returns the opcode, and the group in the ModRM byte, by which an instruction is
// known that was stepped. op is -1 if it is none.
func resumeOpcode(ap *Aggr) (op, group int) {
	if ap.insn == nil {
		return -1, 0
	}
	group, _ = ap.insn.Group()
	return ap.insn.Opcode(), group
}

// loadsFlags reports whether the instruction loads TF with the other flags.
func (ap *Aggr) loadsFlags() bool {
	return ap.insn != nil && ap.insn.WritesIF() && (ap.insn.Flow() == arch.FlowTrapReturn || ap.insn.Opcode() == popf)
}

// fixPushedFlags puts TF and IF of the probed code into the flags that its pushf has
// pushed.
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

// fixReturnAddress makes the return address that a copied call has pushed that of the
// original.
func (h *Hits) fixReturnAddress(kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
	sp := x86.SP(regs)
	if v, ok := m.Load(sp, h.row.word); ok {
		m.Store(sp, h.row.word, uint64(ap.addr)+(v-uint64(kcb.copy)))
	}
}

// kprobeFaultHandler is the first to be asked about a fault (kprobe_fault_handler).
//
// A copy that is stepped has faulted: the fault is the original's. The CPU goes
// back to it, as if it hadn't been hit, and hits the probe once more when the
// fault is mended. Where probes have fault handlers (spec 1.12) they are asked
// then; one that returns 1 has mended it.
//
// A handler has faulted: its own fault handler is asked.
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
	case regs.IP != kcb.copy: // of an NMI's handler, on top of the step
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

// handlerFault is a fault in what a pre_handler or a post_handler does, or under
// an NMI on top of it. The kernel counts it in nmissed, of all probes of the aggr.
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
	kcb.status = kprobeHitActive | kprobeFaulted // what they hit is missed
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
