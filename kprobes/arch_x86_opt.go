package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// jumpSize is the size of the jump that replaces the region's head.
const jumpSize = 5

const jumpOpcode = 0xe9

// A detour is what an optimized probe's jump goes to:
//
//	save the registers as a trap would have
//	call optimized_callback(aggr, registers)
//	restore the registers
//	the instructions of the region, relocated     <- copyAt
//	jmp to the end of the region
type detour struct {
	addr   arch.Addr // set at registration
	size   int       // set at registration; 0: there is none
	region int       // set at registration: bytes of whole instructions that the jump covers, 5 or more
	copy   int       // set at registration: offset of the region's instructions
}

// copyAt is where a CPU goes that has run the handlers already.
func (d *detour) copyAt() arch.Addr { return d.addr + arch.Addr(d.copy) }

const (
	callSize = 5
	// maxRegion is the longest region: four bytes and one whole instruction.
	maxRegion = 4 + 15
	maxDetour = 128 + maxRegion + jumpSize
)

// prepareOptimizedKprobe makes the aggr's detour if its region passes the safety check
// (spec 4.2); otherwise the probe stays a breakpoint (4.1). The rules have
// answered that when the aggr was prepared. Context: kprobe_mutex and
// text_mutex held, as for prepareKprobe, and kprobe_mutex since then.
func (e *Engine) prepareOptimizedKprobe(x kapi.Context, ap *Aggr) {
	if !e.s.Kernel.Optprobes {
		return
	}
	f, ok := e.d.Symbols.Lookup(ap.addr)
	if !ok { // it has just gone (mutant check-unlocked)
		return
	}
	code := e.recoverProbedInstruction(x, f)
	if !ap.verdict.Optimizable() {
		return
	}
	save, restore := e.row.template(e.s.SaveSS)
	d := detour{region: ap.verdict.Region, copy: len(save) + e.row.idLen() + callSize + len(restore)}
	d.size = d.copy + d.region + jumpSize
	ok = false
	if d.addr, ok = e.d.Exec.Alloc(x, d.size, kpev.DetourMem); !ok {
		return
	}
	buf := e.insn[:d.size]
	if !e.archPrepareOptimizedKprobe(buf, &d, ap) {
		e.do.FreeOptinsnSlot(e, x, d.addr, d.size)
		return
	}
	e.fillCopy(x, d.addr, buf)
	copy(ap.orig[:], code[ap.addr-f.Addr:])
	ap.detour = d
}

// archPrepareOptimizedKprobe fills buf. false: something is out of reach.
func (e *Engine) archPrepareOptimizedKprobe(buf []byte, d *detour, ap *Aggr) bool {
	save, restore := e.row.template(e.s.SaveSS)
	n := copy(buf, save)
	n = len(e.row.putID(buf[:n], ap.id))
	call, ok := x86.CallRel32(d.addr+arch.Addr(n), e.callback)
	if !ok {
		return false
	}
	n += copy(buf[n:], call[:])
	n += copy(buf[n:], restore)
	if _, ok = e.looked.judge.Detour(buf[:n], &ap.verdict, d.addr+arch.Addr(n)); !ok {
		return false
	}
	n += d.region
	back, ok := x86.JumpRel32(d.addr+arch.Addr(n), ap.addr+arch.Addr(d.region))
	if !ok {
		return false
	}
	_, ok = x86.JumpRel32(ap.addr, d.addr)
	copy(buf[n:], back[:])
	return ok
}

// archCheckOptimizedKprobe reports whether no other instruction of the region is
// probed (spec 4.4). Context: kprobe_mutex held.
func (e *Engine) archCheckOptimizedKprobe(ap *Aggr) bool {
	for d := 1; d < ap.detour.region; d++ {
		if q, ok := e.kprobeTable.Owned(ap.addr + arch.Addr(d)); ok && e.do.KeepsJumpAway(q) {
			return false
		}
	}
	return true
}

// archUnoptimizeKprobe puts the breakpoint and the original tail back over the
// jump. A CPU that meets the breakpoint meanwhile is ours: the aggr is still
// marked optimized, so it goes to the detour's copy.
//
//	step 1: a breakpoint over the jump's first byte; sync
//	step 2: the original tail;                       sync
//
// Context: text_mutex held.
func (e *Engine) archUnoptimizeKprobe(x kapi.Context, ap *Aggr) {
	e.d.Text.Mutex().AssertHeld(x)
	image := e.insn[:jumpSize]
	copy(image, ap.orig[:])
	copy(image[1:], e.do.CopiedInsn(ap))
	image[0] = x86.Int3
	if e.s.UnoptimizesByInt3() {
		e.d.Text.Poke(x, ap.addr, image[:1])
		e.d.Sync.Core(x, kpev.SyncUnopt1)

		e.d.Text.Poke(x, ap.addr+1, image[1:])
		e.d.Sync.Core(x, kpev.SyncUnopt2)
	} else {
		e.d.Patch.Patch(x, ap.addr, image, ap.detour.addr)
	}
	ap.jumped = false
	x.Emit(kpev.Unoptimized, uint64(ap.addr), 0, 0)
}

// optimizedCallback is what a detour calls: one register says which aggr, another one points
// to the saved registers. Context: interrupts as they were; off through 4.14.
func (e *Engine) optimizedCallback(x kapi.Context, cpu *arch.Regs) {
	n := cpu.R[e.row.id] - 1
	if n >= uint64(len(e.aggrs)) {
		e.d.Traps.Bug(x, "a detour calls for a point that there isn't")
		return
	}
	ap := e.aggrs[n]
	image := arch.Addr(cpu.R[e.row.saved])
	x.Work(WorkDetour, 1)
	on := false
	if e.s.DetourIRQsOff {
		x.Work(kapi.WorkFlags, 1)
		on = x.IRQ(false)
	}
	e.do.PreemptDisable(x)
	switch kcb := e.kcb.This(x); {
	case e.do.OptimizedDisabled(x, ap):
	case e.do.KprobeRunning(e, x):
		e.kprobesIncNmissedCount(x, ap)
	default:
		e.row.load(x.Memory(), image, &kcb.regs)
		if e.s.SaveSS {
			e.do.AdjustSP(&kcb.regs, e.row.word)
		}
		kcb.regs.IP = ap.addr + 1
		kcb.current, kcb.status = ap, kprobeHitActive
		e.do.AggrPreHandler(e, x, ap, &kcb.regs, false)
		kcb.current = nil
		e.do.StoreRegs(e, x, ap, cpu, &kcb.regs)
	}
	e.do.PreemptEnable(x)
	if on {
		x.IRQ(true)
	}
}

// adjustSP corrects the stack pointer of an image with ss: it was saved below that.
func adjustSP(regs *arch.Regs, word int) { regs.R[x86.RSP] += uint64(word) }

// storeRegs writes what handlers have changed into the image, but ip: a change of it is
// ignored (4.10).
func (e *Engine) storeRegs(x kapi.Context, _ *Aggr, cpu, regs *arch.Regs) {
	e.row.putSaved(x.Memory(), arch.Addr(cpu.R[e.row.saved]), regs)
}

// setupDetourExecution sends a CPU that has met the breakpoint of an optimized aggr to the
// detour's copy, after its call (spec 4.5). An aggr is optimized from when it is queued, so
// that the CPU never comes back to the tail of a region that is being written. owes: a
// post_handler is to run, which a detour doesn't do.
func (e *Engine) setupDetourExecution(x kapi.Context, ap *Aggr, regs *arch.Regs, owes bool) bool {
	if !ap.optimized.ReadOnce(x) || owes {
		return false
	}
	regs.IP = ap.detour.copyAt()
	return true
}
