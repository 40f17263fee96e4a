package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// interrupts is what handlers of timers and NMIs do besides the kernel's own work.
type interrupts struct {
	handle func(x *smp.Ctx, s *smp.Source) `state:"boot"` // set at boot
	plain  func(s *smp.Source) bool        `state:"boot"` // set at boot: handle does nothing for the source
	// set at boot: a further work of the function-call IPI, nil: there is none
	called    func(x *smp.Ctx, regs *arch.Regs) `state:"boot"`
	nmis      kapi.PerCPU[nmiState]
	Unlatched bool `state:"boot"` // set at the boot of a run: NMIs nest (Config.NMIsNest, or a mutant)
}

func (in *interrupts) reset(k *Kernel) {
	in.Unlatched = k.cfg.NMIsNest
	for c := range k.M.CPUs() {
		*in.nmis.Of(c) = nmiState{}
	}
}

// prompt reports whether an interrupt does the kernel's own work alone.
func (in *interrupts) prompt(vector uint8, s *smp.Source) bool {
	if s == nil {
		return in.called == nil || vector != smpev.VecCall
	}
	return in.plain != nil && in.plain(s) || in.handle == nil
}

// timer is the handler of a hard timer interrupt: interrupts are off.
func (k *Kernel) timer(x *smp.Ctx, regs *arch.Regs) {
	x.Step("timer handler", 1)
	k.RCU.tick(x, regs)
	if k.cfg.Stall > 0 {
		k.RCU.stalls(x)
	}
	x.Tick()
	if f := k.IRQs.handle; f != nil {
		f(x, x.Source())
	}
	k.irqExit(x, regs)
}

// nmi is the handler of an NMI. The IRET of an exception inside the handler lets the next NMI
// in. That NMI is only noted, and the handler runs once more when it has ended, as in Linux's
// entry code (3.3 and later). So a CPU handles one NMI at a time. Without the latch the next
// NMI is handled on top of the first. What a page fault that is interrupted was about stays known (exc_nmi: nmi_cr2).
func (k *Kernel) nmi(x *smp.Ctx, _ *arch.Regs) {
	fault := x.Pages().Fault()
	x.Step("nmi handler", 1)
	n := k.IRQs.nmis.This(x)
	outer := n.running
	if outer && !k.IRQs.Unlatched {
		n.latched = x.Source()
		return
	}
	n.running = true
	for s := x.Source(); s != nil; {
		n.latched = nil
		if f := k.IRQs.handle; f != nil {
			f(x, s)
		}
		s = n.latched
	}
	n.running = outer
	x.Pages().SetFault(fault)
}

// nmiState is whether a CPU handles an NMI, and whether another one arrived meanwhile.
type nmiState struct {
	running bool        // owned by its CPU
	latched *smp.Source // owned by its CPU
}

// callFunction is the handler of the function-call IPI.
func (k *Kernel) callFunction(x *smp.Ctx, regs *arch.Regs) {
	k.Sync.answer(x)
	if f := k.IRQs.called; f != nil {
		f(x, regs)
	}
	k.irqExit(x, regs)
}

// irqExit is the end of a hard interrupt: under the models full and lazy the CPU may switch tasks here, if the
// interrupted code can be preempted.
func (k *Kernel) irqExit(x *smp.Ctx, regs *arch.Regs) {
	x.IRQ(false)
	if x.User().Trapped() {
		k.toUser(x, regs, nil)
		return
	}
	if !k.M.FullPreempt() || !x.MustResched() {
		return
	}
	if k.preemptible(x, regs) {
		x.Preempt()
		return
	}
	k.Guest.wants(x)
}

// preemptible reports whether the interrupted code could be preempted: a task's, or an exception of its user mode but
// no other trap, with preemption and interrupts on, also by its text.
func (k *Kernel) preemptible(x *smp.Ctx, regs *arch.Regs) bool {
	t := x.Thread()
	return !t.Idle() && t.PreemptCount() == 0 && t.Interrupts() == 1 && regs.Flags&arch.IRQ != 0 &&
		k.textPreemptible(x)
}
