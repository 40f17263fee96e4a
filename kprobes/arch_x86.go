package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// status is what a CPU is doing about the probe it has hit (the kernel's
// kprobe_status).
type status uint8

const (
	kprobeHitActive status = 1 // in a pre_handler
	kprobeHitSS     status = 2 // stepping the copy
	kprobeReenter   status = 4 // stepping the copy of a probe hit from inside another
	kprobeHitSSDone status = 8 // in a post_handler

	kprobeFaulted status = 16 // the copy has faulted: in a fault handler
)

// kprobeCtlblk is a CPU's control block: the probe it has hit, and the one it was busy
// with when it hit that.
//
// owned by its CPU, between breakpoint and step with interrupts off
type kprobeCtlblk struct {
	busy                 // owned by its CPU
	prevKprobe busy      // owned by its CPU
	child      *Kprobe   // owned by its CPU: whose handler is running
	regs       arch.Regs `state:"during busy: says nothing while no probe is hit"` // owned by its CPU: what the handlers of an optimized probe work on
}

type busy struct {
	current    *Aggr      // owned by its CPU
	status     status     `state:"during current: says nothing while no probe is hit"` // owned by its CPU
	oldFlags   uint64     `state:"during current: says nothing while no probe is hit"` // owned by its CPU: TF and IF of the code that was hit
	savedFlags uint64     `state:"during current: says nothing while no probe is hit"` // owned by its CPU: those of them that are restored after the step
	copy       arch.Addr  `state:"during current: says nothing while no probe is hit"` // owned by its CPU: where the copy is that is stepped
	probes     *probeList `state:"during current: says nothing while no probe is hit"` // owned by its CPU: whose pre_handlers were asked
}

// stepping reports whether the CPU has been sent to a copy to come back from it.
func (kcb *kprobeCtlblk) stepping() bool {
	return kcb.current != nil && kcb.status&(kprobeHitSS|kprobeReenter) != 0
}

// kprobeInt3Handler is asked whether a #BP is ours. Context: interrupts off.
func (e *Engine) kprobeInt3Handler(x kapi.Context, regs *arch.Regs) uint64 {
	if e.do.UserMode(e, x, regs) {
		return 0
	}
	addr := regs.IP - 1
	kcb := e.kcb.This(x)
	x.Work(WorkLookup, 1)
	if ap, ok := e.kprobeTable.Get(x, addr); ok {
		if kcb.current == nil {
			e.kprobeHit(x, kcb, ap, regs)
			return kpev.OwnerKprobe
		}
		if e.reenterKprobe(x, kcb, ap, regs) {
			return kpev.OwnerKprobe
		}
		return 0
	}
	if e.s.Step == era.StepInt3 && kcb.stepping() && addr == kcb.copy+arch.Addr(kcb.current.verdict.Len) {
		regs.IP = addr
		e.kprobePostProcess(x, kcb, regs)
		return kpev.OwnerKprobe
	}
	if kcb.current != nil && e.do.LongjmpBreakHandler(e, x, addr, regs) {
		e.setupSinglestep(x, kcb, kcb.current, regs, false)
		return kpev.OwnerKprobe
	}
	if e.s.RemovedInt3 && e.removed(x, addr) {
		regs.IP = addr
		return kpev.OwnerRemoved
	}
	return 0
}

// removed reports whether the breakpoint that a CPU has met isn't there any more.
func (e *Engine) removed(x kapi.Context, at arch.Addr) bool {
	var now [1]byte
	e.d.Text.Read(x, at, now[:])
	return now[0] != x86.Int3
}

// kprobeDebugHandler is asked whether a #DB is ours: the end of a step by the trap flag
// (until 5.12). If a debugger steps the probed code too, the trap
// is also passed on to it. Context: interrupts off.
func (e *Engine) kprobeDebugHandler(x kapi.Context, regs *arch.Regs) uint64 {
	kcb := e.kcb.This(x)
	if e.s.Step != era.StepDebug || !kcb.stepping() {
		return 0
	}
	traced := kcb.oldFlags&x86.TF != 0
	e.kprobePostProcess(x, kcb, regs)
	if traced {
		return 0
	}
	return kpev.OwnerKprobe
}

// kprobeHit runs the handlers of a probe and sets up what comes after them (spec
// 1.2, 1.3, 1.6).
func (e *Engine) kprobeHit(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) {
	kcb.current, kcb.status = ap, kprobeHitActive
	if e.do.AggrPreHandler(e, x, ap, regs, true) {
		if !e.jumped(x) {
			kcb.current = nil // it has set regs.IP: nothing is stepped
		}
		return
	}
	e.setupSinglestep(x, kcb, ap, regs, false)
}

// reenterKprobe is a hit from inside a handler, or from an NMI on top of one: no
// handler runs, and the instruction executes all the same (spec 1.11). It
// returns false if the probed instruction is itself an int3 (2.6): the trap belongs to
// the owner of that.
func (e *Engine) reenterKprobe(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) bool {
	if kcb.stepping() && kcb.current == ap && e.ownInt3(ap) { // this was the step: whose breakpoint it is sees the rest
		regs.Flags = regs.Flags&^x86.TF | kcb.savedFlags
		kcb.restorePreviousKprobe()
		return false
	}
	if e.do.Reentered(e, x) {
		return e.bugReenterKprobe(x, ap)
	}
	e.kprobesIncNmissedCount(x, ap)
	e.setupSinglestep(x, kcb, ap, regs, true)
	return true
}

// bugReenterKprobe is a hit while the CPU steps the copy of a nested one, by an NMI:
// there is room to remember one probe beside the current one, so that the kernel
// dies (KPROBE_REENTER). Kernels of 2.6 find no
// owner for the breakpoint, and die of that.
func (e *Engine) bugReenterKprobe(x kapi.Context, ap *Aggr) bool {
	switch e.s.Files {
	case era.FilesFirst:
		return false
	case era.FilesPlain:
		x.Emit(kpev.Printk, uint64(kpev.LineUnrecoverable), uint64(ap.addr), 0)
	default:
		x.Emit(kpev.Printk, uint64(kpev.LineUnrecoverableBare), 0, 0)
	}
	e.d.Traps.Bug(x, "Unrecoverable kprobe detected")
	return true
}

// setupSinglestep has the instruction of a hit done: by the detour's copy, by the slot's
// with a jump after it, by emulation, or step by step. reenter: the CPU is busy
// with another probe, and still is after the instruction.
func (e *Engine) setupSinglestep(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, reenter bool) {
	owes := !reenter && e.do.OwesPost(kcb.probes) // it may have been queued since
	if e.do.SetupDetourExecution(e, x, ap, regs, owes) {
		kcb.resetCurrentKprobe(reenter)
		return
	}
	var s insnSlot // a site of ftrace has no copy
	if !ap.verdict.Ftrace {
		s = ap.slot.Look(x)
	}
	switch {
	case s.boosted && !e.do.StepsBoosted(e, x, ap, owes):
		regs.IP = s.at
		kcb.resetCurrentKprobe(reenter)
	case s.at == 0 && ap.insn != nil: // else there is nothing to do it by, and the CPU goes to 0
		e.do.Emulate(e, x, ap, regs)
		if !reenter {
			e.do.AggrPostHandler(e, x, ap, regs)
		}
		kcb.resetCurrentKprobe(reenter)
	default:
		if reenter {
			kcb.prevKprobe = kcb.busy
			kcb.status = kprobeReenter
		} else {
			kcb.status = kprobeHitSS
		}
		x.Work(WorkStep, 1)
		e.prepareSinglestep(kcb, ap, s, regs)
	}
}

// resetCurrentKprobe ends what a CPU has to do with a hit, unless it was busy with another
// one before.
func (kcb *kprobeCtlblk) resetCurrentKprobe(reenter bool) {
	if !reenter {
		kcb.current = nil
	}
}

// prepareSinglestep sends the CPU to the copy, interrupts off so that it comes back here
// before anything else happens.
func (e *Engine) prepareSinglestep(kcb *kprobeCtlblk, ap *Aggr, s insnSlot, regs *arch.Regs) {
	keep := x86.IF
	if e.s.Step == era.StepDebug {
		keep |= x86.TF
	}
	kcb.current, kcb.copy = ap, s.at
	kcb.oldFlags = regs.Flags & keep
	kcb.savedFlags = kcb.oldFlags
	if ap.insn != nil && ap.insn.WritesIF() { // what it leaves is right
		kcb.savedFlags &^= x86.IF
		if ap.loadsFlags() {
			kcb.savedFlags = 0
		}
	}
	regs.Flags &^= x86.IF
	regs.IP = s.at
	if e.s.Step == era.StepDebug {
		regs.Flags |= x86.TF
		if e.ownInt3(ap) {
			regs.IP = ap.addr
		}
	}
}

// kprobePostProcess is the end of the copy: what it left relative to itself is made
// relative to the original, and the post_handlers run. regs.IP is where the copy
// went, which an int3 after it has taken back.
func (e *Engine) kprobePostProcess(x kapi.Context, kcb *kprobeCtlblk, regs *arch.Regs) {
	ap := kcb.current
	x.Work(WorkResume, 1)
	if e.s.Step == era.StepDebug {
		e.do.ResumeExecution(e, x, kcb, ap, regs)
	} else {
		regs.IP = ap.addr + (regs.IP - kcb.copy)
	}
	e.do.RestoreFlags(kcb, regs)
	if kcb.status != kprobeReenter {
		e.do.AggrPostHandler(e, x, ap, regs)
	}
	kcb.restorePreviousKprobe()
}

// restorePreviousKprobe ends a step: the CPU is with the hit that it was busy with before, if any.
func (kcb *kprobeCtlblk) restorePreviousKprobe() {
	if kcb.status == kprobeReenter {
		kcb.busy, kcb.prevKprobe = kcb.prevKprobe, busy{}
	} else {
		kcb.current = nil
	}
}

// aggrPreHandler runs the pre_handlers of an aggr, last registered first. With
// stop, one that returns non-zero skips those after it (spec 1.6, 1.8), and
// aggrPreHandler reports it; an optimized probe's ignores it (4.10).
func (e *Engine) aggrPreHandler(x kapi.Context, ap *Aggr, regs *arch.Regs, stop bool) bool {
	kcb := e.kcb.This(x)
	kcb.probes = ap.probes.Deref(x)
	probes := kcb.probes.probes
	e.walks(x, probes)
	for i, p := range probes {
		if e.do.KprobeDisabled(x, p, stop) {
			continue
		}
		if !stop && e.do.DetourSkips(p) {
			continue // it has joined since the CPU came here: a detour runs no post_handler, and goes to no jprobe's entry
		}
		if moved := e.do.CallPreHandler(e, x, p, regs) != 0; moved && stop {
			for _, s := range probes[i+1:] {
				if s.Pre != nil && !s.disabled.Look(x) {
					x.Emit(kpev.Skipped, s.ID, p.ID, 0)
				}
			}
			return true
		}
	}
	return false
}

// callPreHandler runs a pre_handler, if there is one.
func (e *Engine) callPreHandler(x kapi.Context, p *Kprobe, regs *arch.Regs) (moved int) {
	if p.Pre == nil {
		return 0
	}
	kcb := e.kcb.This(x)
	x.Work(kapi.WorkHandler, 1)
	kcb.child = p
	moved = p.Pre(x, p, regs)
	kcb.child = nil
	return moved
}

// aggrPostHandler runs the post_handlers of the probes whose pre_handlers were asked:
// unregister waits for them, so that they may still run of one that is on its way out.
//
// Kernels take the list as it is by now: one that has left, where others stay, isn't
// on it, and if the aggr is queued for a jump since, nothing is asked at all (mutant
// post-by-list). The last one stays on the list until no CPU can reach it.
func (e *Engine) aggrPostHandler(x kapi.Context, ap *Aggr, regs *arch.Regs) {
	kcb := e.kcb.This(x)
	kcb.status = kprobeHitSSDone
	probes := e.do.PostProbes(x, ap, kcb.probes.probes)
	e.walks(x, probes)
	for _, p := range probes {
		if p.Post != nil && !p.disabled.ReadOnce(x) {
			x.Work(kapi.WorkHandler, 1)
			kcb.child = p
			p.Post(x, p, regs, 0)
			kcb.child = nil
		}
	}
}

// walks prices the way along the probes of an aggr that has several: an aggregate's.
func (e *Engine) walks(x kapi.Context, probes []*Kprobe) {
	if len(probes) > 1 {
		x.Work(WorkWalk, len(probes))
	}
}

// kprobesIncNmissedCount counts a hit that runs no handlers, for each probe of the aggr: the
// kernel looks at none of their flags, so that a disabled one among others counts
// what it wouldn't have run for (kprobes_inc_nmissed_count).
func (e *Engine) kprobesIncNmissedCount(x kapi.Context, ap *Aggr) {
	e.do.IncNmissed(x, ap.probes.Deref(x).probes)
}

// incNmissed adds one to the nmissed of each.
func incNmissed(x kapi.Context, probes []*Kprobe) {
	for _, p := range probes {
		kapi.Plus(&p.nmissed, x, 1)
		x.Emit(kpev.Missed, p.ID, 0, 0)
	}
}
