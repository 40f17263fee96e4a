package kernel

import (
	"slices"

	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Traps is the kernel's exception handling: the notifier chains, and the handling of exceptions that no handler
// claims. It implements kapi.Traps.
type Traps struct {
	k      *Kernel
	chain  []kapi.TrapHandler  `state:"boot"` // owned by the boot of a run
	debugs []kapi.TrapHandler  `state:"boot"` // owned by the boot of a run
	faults []kapi.FaultHandler `state:"boot"` // owned by the boot of a run

	// before are called first in the handler of a page fault, with the address. Set at boot.
	before []func(x *smp.Ctx, addr arch.Addr) `state:"boot"` // set at boot

	users []func(x kapi.Context, regs *arch.Regs) `state:"boot"` // owned by the boot of a run
	steps func(cpu int) bool                      `state:"boot"` // owned by the boot of a run

	// PageIn is called for a page fault that no handler claims: it reports whether it has brought the page in, so
	// that the instruction runs again. Set at boot; nil: all pages are in memory.
	PageIn func(x *smp.Ctx, regs *arch.Regs, addr arch.Addr) bool `state:"boot"` // set at boot
	// Unhandled is called for a breakpoint that no handler claims, and for a
	// fault that no handler claims and that has no fixup. Set at boot; nil: the
	// kernel dies.
	Unhandled func(x *smp.Ctx, regs *arch.Regs, trapnr uint8) `state:"boot"`
}

func (t *Traps) init(k *Kernel) {
	t.k = k
	h := k.M.Hooks()
	h.Trap[smpev.VecBP] = t.breakpoint
	h.Trap[smpev.VecDB] = t.debug
	for _, nr := range [...]uint8{smpev.VecDE, smpev.VecUD, smpev.VecGP, smpev.VecPF} {
		h.Trap[nr] = func(x *smp.Ctx, regs *arch.Regs) { t.fault(x, regs, nr) }
	}
}

func (t *Traps) reset() {
	t.chain, t.debugs, t.faults, t.users = t.chain[:0], t.debugs[:0], t.faults[:0], t.users[:0]
	t.steps = nil
}

// OnBreakpoint implements kapi.Traps.
func (t *Traps) OnBreakpoint(h kapi.TrapHandler) { t.chain = append(t.chain, h) }

// OnBreakpointFirst is OnBreakpoint for a handler that is asked before all others: a notifier of high priority.
func (t *Traps) OnBreakpointFirst(h kapi.TrapHandler) { t.chain = slices.Insert(t.chain, 0, h) }

// OnDebug implements kapi.Traps.
func (t *Traps) OnDebug(h kapi.TrapHandler) { t.debugs = append(t.debugs, h) }

// OnFault implements kapi.Traps.
func (t *Traps) OnFault(h kapi.FaultHandler) { t.faults = append(t.faults, h) }

// OnPageFault has f called first in the handler of each page fault, at boot.
func (t *Traps) OnPageFault(f func(x *smp.Ctx, addr arch.Addr)) { t.before = append(t.before, f) }

// OnStepping implements kapi.Traps.
func (t *Traps) OnStepping(f func(cpu int) bool) { t.steps = f }

// stepping returns the count on a CPU that steps an instruction, where kprobes disables preemption from the
// breakpoint on (until 4.18).
func (t *Traps) stepping(cpu int) uint32 {
	if t.steps != nil && t.steps(cpu) {
		return 1
	}
	return 0
}

// FromUser implements kapi.Traps.
func (t *Traps) FromUser(x kapi.Context) bool { return ctxOf(x).User().Trapped() }

// OnUser implements kapi.Traps.
func (t *Traps) OnUser(h func(x kapi.Context, regs *arch.Regs)) { t.users = append(t.users, h) }

// InUser implements kapi.Traps.
func (t *Traps) InUser(x kapi.Context, vector uint8, regs *arch.Regs) {
	ctxOf(x).User().Trap(vector, regs)
}

// RunUser implements kapi.Traps.
func (t *Traps) RunUser(x kapi.Context, f arch.Addr) { ctxOf(x).User().Run(f) }

// Bug implements kapi.Traps.
func (t *Traps) Bug(x kapi.Context, why string) { ctxOf(x).Bug(why) }

// Stepped reports that a handler has executed an instruction of the interrupted code, on the saved registers, as if
// it had been stepped. Context: the trap's handler.
func (t *Traps) Stepped(x kapi.Context) { ctxOf(x).Stepped() }

// breakpoint is the routine of #BP (exc_int3): interrupts are off, and regs.IP
// is after the breakpoint. Where it comes late (smp.Config.Late) they are off from here on.
func (t *Traps) breakpoint(x *smp.Ctx, regs *arch.Regs) {
	at := uint64(regs.IP)
	x.IRQ(false)
	x.Step("int3 handler", 1)
	user := x.User().Trapped()
	if !user { // poke_int3_handler checks that itself
		if owner := t.k.Poke.breakpoint(x, regs); owner != 0 {
			x.Emit(smpev.Claim, smpev.VecBP, at, owner)
			return
		}
	}
	if !t.asks(t.chain, x, regs, smpev.VecBP, at) && !user {
		t.unhandled(x, regs, smpev.VecBP)
		return
	}
	if user {
		t.k.toUser(x, regs, t.users)
	}
}

// asks calls a chain's handlers until one claims a trap.
func (t *Traps) asks(chain []kapi.TrapHandler, x *smp.Ctx, regs *arch.Regs, vector uint8, at uint64) bool {
	for _, h := range chain {
		if owner := h(x, regs); owner != 0 {
			x.Emit(smpev.Claim, uint64(vector), at, owner)
			return true
		}
	}
	return false
}

// toUser is the way back to user mode (exit_to_user_mode_loop): another task may get the CPU, and the task's pending
// work is done, with interrupts on.
func (k *Kernel) toUser(x *smp.Ctx, regs *arch.Regs, work []func(x kapi.Context, regs *arch.Regs)) {
	for {
		x.IRQ(true)
		x.User().Return()
		for _, h := range work {
			h(x, regs)
		}
		if k.Switches.user != nil {
			k.Switches.user(x)
		}
		x.IRQ(false)
		if !x.NeedResched() {
			return
		}
	}
}

// debug is the routine of #DB: interrupts are off. A step of kernel text that
// no handler claims ends the stepping: the kernel clears TF (traps.c,
// do_debug). One of user mode that no handler claims is the program's: it gets SIGTRAP.
func (t *Traps) debug(x *smp.Ctx, regs *arch.Regs) {
	at := uint64(regs.IP)
	x.Step("debug handler", 1)
	if claimed := t.asks(t.debugs, x, regs, smpev.VecDB, at); x.User().Trapped() {
		t.k.toUser(x, regs, t.users)
	} else if !claimed {
		regs.Flags &^= arch.Step
	}
}

// fault is the routine of a fault: regs.IP is the faulting instruction. The fault handlers are asked first; then a
// page is brought in; then the exception table is searched for regs.IP, which a handler may have changed.
func (t *Traps) fault(x *smp.Ctx, regs *arch.Regs, nr uint8) {
	at := uint64(regs.IP)
	addr := x.Pages().Fault()
	for _, f := range t.before {
		if nr == smpev.VecPF {
			f(x, addr)
		}
	}
	for _, h := range t.faults {
		if owner := h(x, regs, int(nr)); owner != 0 {
			x.Emit(smpev.Claim, uint64(nr), at, owner)
			return
		}
	}
	if nr == smpev.VecPF && t.PageIn != nil && t.PageIn(x, regs, addr) || t.fixup(regs) {
		x.Emit(smpev.Claim, uint64(nr), at, smpev.OwnerFault)
		return
	}
	t.unhandled(x, regs, nr)
}

func (t *Traps) unhandled(x *smp.Ctx, regs *arch.Regs, nr uint8) {
	if t.Unhandled != nil {
		t.Unhandled(x, regs, nr)
		return
	}
	x.Oops()
}

// fixup resumes after an instruction that has an exception-table entry. Tables here have no target addresses: every
// fixup just continues, as that of wrmsr_safe does.
func (t *Traps) fixup(regs *arch.Regs) bool {
	if !t.k.Symbols.Extable(regs.IP, 1) {
		return false
	}
	b := make([]byte, t.k.M.Arch().MaxLen)
	n := t.k.M.Memory().BootText(regs.IP, b) // a probe may be on it now
	in, err := t.k.M.Arch().Decode(b[:n], regs.IP)
	if err != nil {
		return false
	}
	regs.IP = in.Next()
	return true
}

// onPageFault sets, at boot, the function that may bring a page in.
func (t *Traps) onPageFault(f func(x *smp.Ctx, regs *arch.Regs, addr arch.Addr) bool) { t.PageIn = f }
