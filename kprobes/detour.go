package kprobes

import (
	"encoding/binary"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A detour is the code that an optimized probe's jump leads to:
//
//	save the registers as a trap would have
//	call optimized_callback(aggr, registers)
//	restore the registers
//	the instructions of the region, relocated     <- copyAt
//	jmp to the end of the region
//
// On ppc64le the region is one instruction, which a call emulates on the saved registers:
//
//	save the registers
//	call optimized_callback(aggr, registers)
//	call emulate_step(registers, instruction)
//	restore the registers
//	b to where the instruction goes
type detour struct {
	addr   arch.Addr // set at registration
	size   int       // set at registration; 0: there is none
	region int       // set at registration: bytes of whole instructions that the jump covers
	copy   int       // set at registration: offset of the region's instructions
}

// copyAt returns the address at which a CPU continues that has already run the handlers.
func (d *detour) copyAt() arch.Addr { return d.addr + arch.Addr(d.copy) }

// maxRegion is the longest region: four bytes and one whole instruction.
const maxRegion = 4 + 15

// An optRow is what jump optimization has to know of a processor (arch/x86/kernel/kprobes/opt.c,
// arch/powerpc/kernel/optprobes.c).
type optRow struct {
	// shape returns an aggr's detour, without its address.
	shape func(o *Optimizer, ap *Aggr) detour
	// prepare fills the detour's bytes (arch_prepare_optimized_kprobe). It returns false if a target is out of reach.
	prepare func(o *Optimizer, buf []byte, d detour, ap *Aggr) bool
	// unoptimize replaces the jump by the breakpoint (arch_unoptimize_kprobe).
	unoptimize func(o *Optimizer, x kapi.Context, ap *Aggr)

	id, saved arch.Reg // in which a detour's callback gets the aggr, and the saved registers
	load      func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)
	putSaved  func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)

	// breaksInto says that a CPU which hits the breakpoint of an optimized aggr goes on in the detour.
	breaksInto bool
	// pushes says that a detour pushes the registers, so that in a whole image (save_ss) the stack pointer is below
	// the task's.
	pushes bool
	// emulates says that a detour calls emulate_step, which takes the saved registers and the instruction in the
	// registers of two arguments, and ipAt is where the saved registers have the instruction's address for that.
	emulates bool
	ipAt     arch.Addr
}

// prepareOptimizedKprobe makes the aggr's detour if its region passes the safety check (spec 4.2); otherwise the
// probe stays a breakpoint (4.1). The rules decided that when the aggr was prepared. Context: kprobe_mutex and
// text_mutex held, as for prepareKprobe, and kprobe_mutex since then.
func (o *Optimizer) prepareOptimizedKprobe(x kapi.Context, ap *Aggr) {
	if !o.s.Kernel.Optprobes {
		return
	}
	f, ok := o.d.Symbols.Lookup(ap.addr)
	if !ok { // the function has just gone (mutant check-unlocked)
		return
	}
	code := o.e.text.recoverProbedInstruction(x, f)
	if !ap.verdict.Optimizable() {
		return
	}
	d := o.row.opt.shape(o, ap)
	if d.addr, ok = o.d.Exec.Alloc(x, d.size, kpev.DetourMem); !ok {
		return
	}
	buf := o.buffer(d.size)
	if !o.row.opt.prepare(o, buf, d, ap) {
		o.do.Optimizer.FreeOptinsnSlot(o.e, x, d.addr, d.size)
		return
	}
	o.e.slots.fillCopy(x, d.addr, buf)
	copy(ap.orig[:], code[ap.addr-f.Addr:])
	ap.detour = d
}

// buffer returns memory for the bytes of a detour about to be written. Context: text_mutex held.
func (o *Optimizer) buffer(size int) []byte {
	if size <= len(o.e.slots.insn) {
		return o.e.slots.insn[:size]
	}
	if cap(o.code) < size {
		o.code = make([]byte, size)
	}
	return o.code[:size]
}

// archCheckOptimizedKprobe reports whether no other instruction of the region is
// probed (spec 4.4). Context: kprobe_mutex held.
func (o *Optimizer) archCheckOptimizedKprobe(ap *Aggr) bool {
	for d := 1; d < ap.detour.region; d++ {
		if q, ok := o.e.Table.probes.Owned(ap.addr + arch.Addr(d)); ok && o.do.Optimizer.KeepsJumpAway(q) {
			return false
		}
	}
	return true
}

// archUnoptimizeKprobe replaces a jump by the breakpoint. Context: text_mutex held.
func (o *Optimizer) archUnoptimizeKprobe(x kapi.Context, ap *Aggr) {
	o.d.Text.Mutex().AssertHeld(x)
	o.row.opt.unoptimize(o, x, ap)
	ap.jumped = false
	x.Emit(kpev.Unoptimized, uint64(ap.addr), 0, 0)
}

// optimizedCallback is called by a detour. One register identifies the aggr, another points to
// the saved registers. Context: interrupts as they were; off through 4.14.
func (h *Hits) optimizedCallback(x kapi.Context, cpu *arch.Regs) {
	n := cpu.R[h.row.opt.id] - 1
	if n >= uint64(len(h.e.Table.aggrs)) {
		h.d.Traps.Bug(x, "a detour calls for a point that there isn't")
		return
	}
	ap := h.e.Table.aggrs[n]
	image, sp := arch.Addr(cpu.R[h.row.opt.saved]), h.cpu.StackPointer(cpu) // a handler's text leaves others in the CPU
	x.Work(WorkDetour, 1)
	on := false
	if h.s.DetourIRQsOff {
		x.Work(kapi.WorkFlags, 1)
		on = x.IRQ(false)
	}
	if h.row.opt.ipAt != 0 {
		h.do.Hit.StoreIP(x, image+h.row.opt.ipAt, ap.addr)
	}
	h.do.Hit.PreemptDisable(x)
	switch kcb := h.kcb.This(x); {
	case h.do.Hit.OptimizedDisabled(x, ap):
	case h.do.Hit.KprobeRunning(h.e, x):
		h.kprobesIncNmissedCount(x, ap)
	default:
		h.row.opt.load(x.Memory(), image, &kcb.regs)
		if h.s.SaveSS && h.row.opt.pushes {
			h.do.Hit.AdjustSP(&kcb.regs, h.row.word)
		}
		kcb.regs.IP = ap.addr + h.cpu.Past
		kcb.current, kcb.status = ap, kprobeHitActive
		h.do.Hit.AggrPreHandler(h.e, x, ap, &kcb.regs, false)
		kcb.current = nil
		h.do.Hit.StoreRegs(h.e, x, ap, image, sp, &kcb.regs)
	}
	h.do.Hit.PreemptEnable(x)
	if on {
		x.IRQ(true)
	}
}

// storeRegs writes the handlers' changes into the image, except ip: a change of ip is ignored
// (4.10).
func (h *Hits) storeRegs(x kapi.Context, ap *Aggr, image, _ arch.Addr, regs *arch.Regs) {
	if h.row.opt.emulates {
		regs.IP = ap.addr // emulate_step reads it
	}
	h.row.opt.putSaved(x.Memory(), image, regs)
}

// setupDetourExecution sends a CPU that has hit the breakpoint of an optimized aggr to the
// detour's copy, after its call (spec 4.5). An aggr counts as optimized once it is queued, so
// the CPU never comes back to the tail of a region that is being written. On ppc64le a region is one instruction, and
// the breakpoint is handled as ever. owes is true if a
// post_handler is to run; a detour can't run one. Kernels don't ask that: a probe whose aggr was
// queued after its pre_handlers ran loses its post_handler.
func (h *Hits) setupDetourExecution(x kapi.Context, ap *Aggr, regs *arch.Regs, owes bool) bool {
	if o := h.row.opt; o != nil && !o.breaksInto {
		return false
	}
	if !ap.optimized.ReadOnce(x) || owes {
		return false
	}
	regs.IP = ap.detour.copyAt()
	return true
}

// emulateStep is called by a detour on processors whose detours hold no copy (emulate_step): it does what the
// instruction does, on the saved registers, which have its address. Context: interrupts as they were.
func (h *Hits) emulateStep(x kapi.Context, cpu *arch.Regs) {
	image, word := arch.Addr(cpu.R[h.cpu.Args[0]]), cpu.R[h.cpu.Args[1]]
	x.Work(WorkEmulate, 1)
	var regs *arch.Regs
	if n := len(h.spare); n > 0 {
		regs, h.spare = h.spare[n-1], h.spare[:n-1]
	} else {
		regs = new(arch.Regs)
	}
	h.row.opt.load(x.Memory(), image, regs)
	var code [8]byte
	binary.LittleEndian.PutUint64(code[:], word)
	if in, err := h.d.Text.Decode(code[:], regs.IP); err == nil {
		in.Exec(regs, x.Memory())
	}
	h.row.opt.putSaved(x.Memory(), image, regs)
	h.spare = append(h.spare, regs)
}
