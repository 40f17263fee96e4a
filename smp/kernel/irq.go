package kernel

import (
	"kpsim/smp"
	"kpsim/smp/isa"
)

// timer is the handler of a hard timer interrupt: interrupts are off.
func (k *Kernel) timer(x *smp.Ctx, regs *isa.Regs) {
	x.Step("timer handler", 1)
	k.RCU.tick(x, regs)
	if k.onTimer != nil {
		k.onTimer(x)
	}
	k.irqExit(x, regs)
}

func (k *Kernel) nmi(x *smp.Ctx, _ *isa.Regs) {
	x.Step("nmi handler", 1)
	if k.onNMI != nil {
		k.onNMI(x)
	}
}

// callFunction is the handler of the function-call IPI.
func (k *Kernel) callFunction(x *smp.Ctx, regs *isa.Regs) {
	k.Sync.answer(x)
	k.irqExit(x, regs)
}

// irqExit is the end of a hard interrupt: under the model full the CPU may go
// to another task here, if what was interrupted can be preempted.
func (k *Kernel) irqExit(x *smp.Ctx, regs *isa.Regs) {
	x.IRQ(false)
	if k.M.FullPreempt() && x.NeedResched() && preemptible(x, regs) {
		x.Preempt()
	}
}

// preemptible reports whether what a trap interrupted could be preempted: a
// task, not another trap, with preemption and interrupts on.
func preemptible(x *smp.Ctx, regs *isa.Regs) bool {
	t := x.Thread()
	return !t.Idle() && t.PreemptCount() == 0 && t.Traps() == 1 && regs.Flags&isa.IF != 0
}
