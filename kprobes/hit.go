package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// status is a CPU's progress in handling a hit (the kernel's kprobe_status).
type status uint8

const (
	kprobeHitActive status = 1 // in a pre_handler
	kprobeHitSS     status = 2 // stepping the copy
	kprobeReenter   status = 4 // stepping the copy of a probe hit from inside another
	kprobeHitSSDone status = 8 // in a post_handler

	kprobeFaulted status = 16 // the copy has faulted: in a fault handler
)

// kprobeCtlblk is a CPU's control block: the probe that it has hit, and the outer probe that
// it was handling when it hit that one.
//
// owned by its CPU, between breakpoint and step with interrupts off
type kprobeCtlblk struct {
	busy               // owned by its CPU
	prevKprobe busy    // owned by its CPU
	child      *Kprobe // owned by its CPU: the aggr whose handler is running
	// owned by its CPU: the registers that handlers of an optimized probe get
	regs arch.Regs `state:"during busy: says nothing while no probe is hit"`
}

type busy struct {
	current *Aggr  // owned by its CPU
	status  status `state:"during current: says nothing while no probe is hit"` // owned by its CPU
	// owned by its CPU: TF and IF of the code that was hit
	oldFlags uint64 `state:"during current: says nothing while no probe is hit"`
	// owned by its CPU: the flags that are restored after the step
	savedFlags uint64 `state:"during current: says nothing while no probe is hit"`
	// owned by its CPU: where the copy is that is stepped
	copy arch.Addr `state:"during current: says nothing while no probe is hit"`
	// owned by its CPU: the probes whose pre_handlers were asked
	probes *probeList `state:"during current: says nothing while no probe is hit"`
}

// stepping reports whether the CPU is stepping a copy and will come back from it.
func (kcb *kprobeCtlblk) stepping() bool {
	return kcb.current != nil && kcb.status&(kprobeHitSS|kprobeReenter) != 0
}

// Hits handles the hits of all CPUs.
type Hits struct {
	*env     `state:"boot"` // set at New
	kcb      kapi.PerCPU[kprobeCtlblk]
	callback arch.Addr // set at New: the routine that detours call
	stepper  arch.Addr // set at New: the routine by which detours emulate; 0: they hold copies
	// registers for emulateStep; owned by the routine that has taken them off
	spare []*arch.Regs `state:"skip: nothing in them counts"`

	onCall    kapi.Routine       `state:"boot"` // set at New
	onEmulate kapi.Routine       `state:"boot"` // set at New
	onBreak   kapi.TrapHandler   `state:"boot"` // set at New
	onDebug   kapi.TrapHandler   `state:"boot"` // set at New
	onFault   kapi.FaultHandler  `state:"boot"` // set at New
	onSteps   func(cpu int) bool `state:"boot"` // set at New
}

// init makes the routines, as values.
func (h *Hits) init() {
	h.onCall, h.onDebug, h.onFault = h.optimizedCallback, h.kprobeDebugHandler, h.kprobeFaultHandler
	h.onEmulate = h.emulateStep
	h.onBreak = func(x kapi.Context, regs *arch.Regs) uint64 { return h.do.Hit.KprobeInt3Handler(h.e, x, regs) }
	h.onSteps = func(cpu int) bool {
		kcb := h.kcb.Of(cpu)
		return kcb.stepping() || kcb.current != nil && kcb.status&kprobeFaulted != 0
	}
}

// hook registers the routines with the kernel.
func (h *Hits) hook() {
	h.d.Traps.OnBreakpoint(h.onBreak)
	h.d.Traps.OnDebug(h.onDebug)
	h.d.Traps.OnFault(h.onFault)
	h.d.Traps.OnStepping(h.onSteps)
}

// kprobeInt3Handler handles a #BP if it is the engine's. Context: interrupts off.
func (h *Hits) kprobeInt3Handler(x kapi.Context, regs *arch.Regs) uint64 {
	if h.do.Hit.UserMode(h.e, x, regs) {
		return 0
	}
	addr := h.cpu.BreakpointAt(regs)
	kcb := h.kcb.This(x)
	x.Work(WorkLookup, 1)
	if ap, ok := h.e.Table.probes.Get(x, addr); ok {
		if kcb.current == nil {
			h.kprobeHit(x, kcb, ap, regs)
			return kpev.OwnerKprobe
		}
		if h.reenterKprobe(x, kcb, ap, regs) {
			return kpev.OwnerKprobe
		}
		return 0
	}
	if h.s.Step == era.StepInt3 && kcb.stepping() && addr == kcb.copy+arch.Addr(kcb.current.verdict.Len) {
		regs.IP = addr
		h.kprobePostProcess(x, kcb, regs)
		return kpev.OwnerKprobe
	}
	if kcb.current != nil && h.do.Jprobe.LongjmpBreakHandler(h.e, x, addr, regs) {
		h.setupSinglestep(x, kcb, kcb.current, regs, false)
		return kpev.OwnerKprobe
	}
	if h.s.RemovedInt3 && h.removed(x, addr) {
		regs.IP = addr
		return kpev.OwnerRemoved
	}
	return 0
}

// removed reports whether the breakpoint that a CPU has hit is no longer in the text.
func (h *Hits) removed(x kapi.Context, at arch.Addr) bool {
	var now [8]byte
	n := len(h.cpu.Breakpoint)
	h.d.Text.Read(x, at, now[:n])
	return !h.cpu.IsBreakpoint(arch.Word(now[:n]))
}

// kprobeHit runs the pre_handlers of an aggr and sets up the execution of the instruction
// (spec 1.2, 1.3, 1.6).
func (h *Hits) kprobeHit(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) {
	kcb.current, kcb.status = ap, kprobeHitActive
	if h.do.Hit.AggrPreHandler(h.e, x, ap, regs, true) {
		if !h.e.Jprobes.jumped(x) {
			kcb.current = nil // the handler has set regs.IP: nothing is stepped
		}
		return
	}
	h.setupSinglestep(x, kcb, ap, regs, false)
}

// reenterKprobe handles a hit from inside a handler, or from an NMI on top of one. No handler
// runs, but the instruction executes (spec 1.11). It returns false if the probed instruction
// is itself an int3 (2.6): the trap belongs to the owner of that int3.
func (h *Hits) reenterKprobe(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) bool {
	// This trap is the step of a breakpoint's own int3: its owner handles the rest.
	if kcb.stepping() && kcb.current == ap && h.e.slots.ownInt3(ap) {
		regs.Flags = regs.Flags&^arch.Step | kcb.savedFlags
		kcb.restorePreviousKprobe()
		return false
	}
	if h.do.Hit.Reentered(h.e, x) {
		return h.bugReenterKprobe(x, ap)
	}
	h.kprobesIncNmissedCount(x, ap)
	h.setupSinglestep(x, kcb, ap, regs, true)
	return true
}

// reentered reports whether another hit can't be kept track of: there is room for only one probe beside the
// current one. A CPU may be hit while it steps a copy, by an NMI or in what handles the copy's fault; on riscv64
// that is fatal, too.
func (h *Hits) reentered(x kapi.Context) bool {
	s := h.kcb.This(x).status
	return s == kprobeReenter || s == kprobeHitSS && h.row.stepsAlone
}

// bugReenterKprobe handles a hit, by an NMI or a fault, while the CPU steps the copy of a nested probe.
// There is room for only one probe beside the current one, so the kernel dies
// (KPROBE_REENTER). Kernels of 2.6 find no owner for the breakpoint, and die of that.
func (h *Hits) bugReenterKprobe(x kapi.Context, ap *Aggr) bool {
	switch {
	case h.row.reentered:
		x.Emit(kpev.Printk, uint64(kpev.LineReentered), 0, 0)
		h.d.Traps.Bug(x, "Failed to recover from reentered kprobes")
		return true
	case h.s.Files == era.FilesFirst:
		return false
	case h.s.Files == era.FilesPlain:
		x.Emit(kpev.Printk, uint64(kpev.LineUnrecoverable), uint64(ap.addr), 0)
	default:
		x.Emit(kpev.Printk, uint64(kpev.LineUnrecoverableBare), 0, 0)
	}
	h.d.Traps.Bug(x, "Unrecoverable kprobe detected")
	return true
}

// setupSinglestep arranges the execution of the probed instruction: by the detour's copy, by
// a boosted slot, by emulation, or by stepping. reenter is true if the CPU is busy with
// another probe, and remains so after the instruction.
func (h *Hits) setupSinglestep(x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, reenter bool) {
	owes := !reenter && h.do.Hit.OwesPost(kcb.probes) // the aggr may have been queued since
	if h.do.Hit.SetupDetourExecution(h.e, x, ap, regs, owes) {
		kcb.resetCurrentKprobe(reenter)
		return
	}
	var s insnSlot // a site of ftrace has no copy
	if !ap.verdict.Ftrace {
		s = ap.slot.Look(x)
	}
	switch {
	case s.boosted && !h.do.Copy.StepsBoosted(h.e, x, ap, owes):
		regs.IP = s.at
		kcb.resetCurrentKprobe(reenter)
	// without an instruction nothing can be emulated, and the CPU goes to 0
	case (s.at == 0 || h.row.tries && ap.verdict.Emulated) && ap.insn != nil && h.do.Copy.Emulate(h.e, x, ap, regs):
		if !reenter {
			h.do.Hit.AggrPostHandler(h.e, x, ap, regs)
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
		h.prepareSinglestep(kcb, ap, s, regs)
	}
}

// resetCurrentKprobe ends a CPU's handling of a hit, unless the CPU was already busy with
// another one.
func (kcb *kprobeCtlblk) resetCurrentKprobe(reenter bool) {
	if !reenter {
		kcb.current = nil
	}
}

// prepareSinglestep sends the CPU to the copy. Interrupts are off, so that the CPU comes back
// before anything else happens.
func (h *Hits) prepareSinglestep(kcb *kprobeCtlblk, ap *Aggr, s insnSlot, regs *arch.Regs) {
	keep := arch.IRQ
	if h.s.Step == era.StepDebug {
		keep |= arch.Step
	}
	kcb.current, kcb.copy = ap, s.at
	kcb.oldFlags = regs.Flags & keep
	kcb.savedFlags = kcb.oldFlags
	if ap.insn != nil && h.row.writesFlags != nil {
		kcb.savedFlags &^= h.row.writesFlags(ap.insn)
	}
	h.do.Copy.MaskIRQs(regs)
	regs.IP = s.at
	if h.s.Step == era.StepDebug {
		regs.Flags |= arch.Step
		if h.e.slots.ownInt3(ap) {
			regs.IP = ap.addr
		}
	}
}

// emulate does what the instruction does, on the saved registers. A push goes
// into the gap above the trap frame. One that faults, or that isa doesn't
// execute, leaves the CPU where it was: unprobed it wouldn't get past it either. Where
// it has a copy, too, emulate returns false then.
func (h *Hits) emulate(x kapi.Context, ap *Aggr, regs *arch.Regs) (done bool) {
	x.Work(WorkEmulate, 1)
	regs.IP = ap.addr
	out := ap.insn.Exec(regs, x.Memory())
	if !h.row.tries {
		return true
	}
	if !out.Faulted() && out != arch.Breakpoint {
		h.do.Copy.MoveFrame(h.e, x)
		return true
	}
	return false
}

// kprobePostProcess runs at the end of the copy. It makes results that are relative to the copy
// relative to the original, and runs the post_handlers. regs.IP is where the copy went; for a
// step by int3 it has been set back over the int3.
func (h *Hits) kprobePostProcess(x kapi.Context, kcb *kprobeCtlblk, regs *arch.Regs) {
	ap := kcb.current
	x.Work(WorkResume, 1)
	if h.s.Step == era.StepDebug {
		h.do.Copy.ResumeExecution(h.e, x, kcb, ap, regs)
	} else {
		regs.IP = ap.addr + (regs.IP - kcb.copy)
	}
	h.do.Copy.RestoreFlags(kcb, regs)
	if kcb.status != kprobeReenter {
		h.do.Hit.AggrPostHandler(h.e, x, ap, regs)
	}
	kcb.restorePreviousKprobe()
}

// kprobeDebugHandler handles a #DB if it is the engine's: the end of a step by the trap flag
// (x86 until 5.12), or by MSR.SE. If a debugger also steps the probed code, the trap is passed on to it too.
// Context: interrupts off.
func (h *Hits) kprobeDebugHandler(x kapi.Context, regs *arch.Regs) uint64 {
	kcb := h.kcb.This(x)
	if h.s.Step != era.StepDebug || !kcb.stepping() {
		return 0
	}
	traced := kcb.oldFlags&arch.Step != 0
	h.kprobePostProcess(x, kcb, regs)
	if traced {
		return 0
	}
	return kpev.OwnerKprobe
}

// restorePreviousKprobe ends a step. The CPU returns to the hit that it was busy with before, if any.
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
func (h *Hits) aggrPreHandler(x kapi.Context, ap *Aggr, regs *arch.Regs, stop bool) bool {
	kcb := h.kcb.This(x)
	kcb.probes = ap.probes.Deref(x)
	probes := kcb.probes.probes
	h.walks(x, probes)
	for i, p := range probes {
		if h.do.Hit.KprobeDisabled(x, p, stop) {
			continue
		}
		if !stop && h.do.Hit.DetourSkips(p) {
			// The probe joined after the CPU came here. A detour runs no post_handler and enters no jprobe.
			continue
		}
		if moved := h.do.Hit.CallPreHandler(h.e, x, p, regs) != 0; moved && stop {
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
func (h *Hits) callPreHandler(x kapi.Context, p *Kprobe, regs *arch.Regs) (moved int) {
	if p.Pre == nil {
		return 0
	}
	kcb := h.kcb.This(x)
	x.Work(kapi.WorkHandler, 1)
	kcb.child = p
	moved = p.Pre(x, p, regs)
	kcb.child = nil
	return moved
}

// aggrPostHandler runs the post_handlers of the probes whose pre_handlers were called. A probe
// that is being unregistered may still be among them, because unregister waits for handlers.
//
// Kernels use the current list instead. A probe that has left, while others stay, isn't on it;
// and if the aggr was queued for a jump since, no post_handler runs at all (mutant
// post-by-list). There, the last probe stays on the list until no CPU can reach it.
func (h *Hits) aggrPostHandler(x kapi.Context, ap *Aggr, regs *arch.Regs) {
	kcb := h.kcb.This(x)
	kcb.status = kprobeHitSSDone
	probes := h.do.Hit.PostProbes(x, ap, kcb.probes.probes)
	h.walks(x, probes)
	for _, p := range probes {
		if p.Post != nil && !p.disabled.ReadOnce(x) {
			x.Work(kapi.WorkHandler, 1)
			kcb.child = p
			p.Post(x, p, regs, 0)
			kcb.child = nil
		}
	}
}

// walks charges the cost of walking the probes of an aggr that has several.
func (h *Hits) walks(x kapi.Context, probes []*Kprobe) {
	if len(probes) > 1 {
		x.Work(WorkWalk, len(probes))
	}
}

// kprobesIncNmissedCount counts a hit that runs no handlers, for each probe of the aggr
// (kprobes_inc_nmissed_count). The kernel ignores the probes' flags, so a disabled probe also
// counts hits for which it wouldn't have run.
func (h *Hits) kprobesIncNmissedCount(x kapi.Context, ap *Aggr) {
	h.do.Hit.IncNmissed(x, ap.probes.Deref(x).probes)
}

// incNmissed adds one to the nmissed of each.
func incNmissed(x kapi.Context, probes []*Kprobe) {
	for _, p := range probes {
		kapi.Plus(&p.nmissed, x, 1)
		x.Emit(kpev.Missed, p.ID, 0, 0)
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
	h.do.Copy.CancelFlags(kcb, regs)
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

// Stepping reports whether the CPU is stepping a copy and will come back from it.
func (h *Hits) Stepping(x kapi.Context) bool { return h.kcb.This(x).stepping() }

// InPostHandler reports whether the CPU runs post_handlers (KPROBE_HIT_SSDONE).
func (h *Hits) InPostHandler(x kapi.Context) bool {
	kcb := h.kcb.This(x)
	return kcb.current != nil && kcb.status == kprobeHitSSDone
}

// Busy returns a CPU that is still handling a hit, and the probe's address. ok is false if
// there is none.
func (h *Hits) Busy() (cpu int, at arch.Addr, ok bool) {
	for cpu := range h.d.CPUs {
		kcb := h.kcb.Of(cpu)
		for _, ap := range [...]*Aggr{kcb.current, kcb.prevKprobe.current} {
			if ap != nil {
				return cpu, ap.addr, true
			}
		}
	}
	return 0, 0, false
}
