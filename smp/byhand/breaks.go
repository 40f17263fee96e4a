package byhand

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Break is a place at which a task says what a breakpoint does.
type Break struct {
	at   arch.Addr // set at boot
	does kapi.Var[Action]
}

// An Action is what the handler of a breakpoint does. The zero value: the breakpoint isn't the patcher's.
type Action struct {
	Owns bool
	Call arch.Addr // called first, with interrupts off; 0: nothing
	To   arch.Addr // where the CPU continues; that of the breakpoint: it runs what stands there then
}

// NewBreak adds a place, at boot. One that is known already isn't added again.
func (h *Hand) NewBreak(at arch.Addr) {
	if h.broken(at) != nil {
		return
	}
	b := &Break{at: at}
	b.does.Init(&h.k.M.Cells, Action{})
	h.breaks = append(h.breaks, b)
}

func (h *Hand) broken(at arch.Addr) *Break {
	for _, b := range h.breaks {
		if b.at == at {
			return b
		}
	}
	return nil
}

// handlerSet is the order of a handler's entry.
var handlerSet = kapi.DefineBarrier("patcher: set the handler before the breakpoint", kapi.OrderRelease,
	"smp_store_release() of what a patcher's breakpoint does")

// OnBreakpoint says what a breakpoint at a place does from now on (point).
func (h *Hand) OnBreakpoint(x kapi.Context, at arch.Addr, does Action) {
	h.broken(at).does.StoreRelease(x, handlerSet, does)
}

// breakpoint is the handler of #BP. Context: interrupts off.
func (h *Hand) breakpoint(x kapi.Context, regs *arch.Regs) uint64 {
	at := target.Arch.BreakpointAt(regs)
	b := h.broken(at)
	if b == nil {
		return 0
	}
	does := b.does.ReadOnce(x)
	if !does.Owns {
		return 0
	}
	if does.Call != 0 {
		x.Call(does.Call)
	}
	if regs.IP = does.To; does.To == at {
		smp.Relax(x.(*smp.Ctx))
	}
	return smpev.OwnerByHand
}
