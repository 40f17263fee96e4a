package kernel

import (
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Traps is the notifier chain of #BP: the text-poke handler, then what engines
// have added. It implements kapi.Traps.
type Traps struct {
	k     *Kernel
	chain []kapi.TrapHandler // owned by the boot of a run
}

func (t *Traps) init(k *Kernel) { t.k = k }

func (t *Traps) reset() { t.chain = t.chain[:0] }

// OnBreakpoint implements kapi.Traps.
func (t *Traps) OnBreakpoint(h kapi.TrapHandler) { t.chain = append(t.chain, h) }

// breakpoint is the routine of #BP: interrupts are off, and regs.IP is behind
// the breakpoint.
func (t *Traps) breakpoint(x *smp.Ctx, regs *isa.Regs) {
	at := uint64(regs.IP)
	x.Step("int3 handler", 1)
	if owner := t.k.Poke.breakpoint(x, regs); owner != 0 {
		x.Emit(smpev.Claim, smpev.VecBP, at, owner)
		return
	}
	for _, h := range t.chain {
		if owner := h(x, regs); owner != 0 {
			x.Emit(smpev.Claim, smpev.VecBP, at, owner)
			return
		}
	}
	x.Oops()
}
