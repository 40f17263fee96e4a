package byhand

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Break is a place at which a task says what a breakpoint does.
type Break struct {
	at    arch.Addr // set at boot
	waits bool      // set at boot: a handler there waits until the breakpoint is gone
	does  kapi.Var[Action]
	here  kapi.Var[bool] // a task has written a breakpoint there, or is about to
	gone  kapi.Is[bool]  `state:"boot"` // set at boot
}

// An Action is what the handler of a breakpoint, or of a fault, does. The zero value: it isn't the patcher's.
type Action struct {
	Owns bool
	Call arch.Addr // called first, with interrupts off; 0: nothing
	To   arch.Addr // where the CPU continues; that of the breakpoint: it waits until a task has replaced that

	Links bool // To is called, as the branch at the breakpoint would, and returns after that
}

// NewBreak adds a place, at boot; waits as in Break. One that is known already isn't added again.
func (h *Hand) NewBreak(at arch.Addr, waits bool) {
	b := h.broken(at)
	if b == nil {
		b = &Break{at: at}
		b.does.Init(&h.k.M.Cells, Action{})
		h.breaks = append(h.breaks, b)
	}
	if waits && !b.waits {
		b.waits = true
		b.here.Init(&h.k.M.Cells, false)
		b.gone = kapi.Is[bool]{Var: &b.here}
	}
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
	at := h.k.M.Arch().BreakpointAt(regs)
	b := h.broken(at)
	if b == nil {
		return 0
	}
	does := b.does.ReadNewest(x)
	if !does.Owns {
		return 0
	}
	if a := h.k.M.Arch(); does.Links && !a.PushCaller(x.Memory(), regs, at+arch.Addr(a.BranchLen)) {
		return 0
	}
	does.handle(x, regs, does.To, at, &b.gone)
	return smpev.OwnerByHand
}

// handle is the handler of a trap of the instruction at an address, which goes on at to; if that is the same address,
// it waits until gone holds.
func (does *Action) handle(x kapi.Context, regs *arch.Regs, to, at arch.Addr, gone kapi.Cond) {
	if does.Call != 0 {
		x.Call(does.Call)
	}
	if regs.IP = to; to == at {
		x.IRQ(true) // as a handler of user mode runs
		x.Spin(gone)
		x.IRQ(false)
	}
}

// Linked replaces the text that begins at an address by that of tasks and compiled code, without what other patchers
// have written over it.
func (h *Hand) Linked(at arch.Addr, text []byte) {
	if t := h.text(at); t != nil {
		copy(text, t.code)
	}
}

// Stored notes a store of n bytes of v by compiled code, as written does, and what it makes of text that tasks store
// to as well.
func (h *Hand) Stored(addr arch.Addr, v uint64, n int) {
	for _, t := range h.texts {
		if addr-t.in.At < arch.Addr(t.in.Size) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			h.touch()
			t.store(h, addr, b[:min(n, int(t.in.At)+t.in.Size-int(addr))])
		}
	}
	for _, p := range h.breaks {
		k := p.at - addr
		if !p.waits || k >= arch.Addr(n) {
			continue
		}
		if here := h.k.M.Arch().IsBreakpoint(v >> (8 * k)); here != p.here.Peek() {
			h.k.M.Footprint().TouchCell(p.here.ID(), true)
			p.here.Overwrite(here)
			h.k.M.Waits().Notify(p.here.ID())
		}
	}
}

// written notes at which places a store of b at addr puts a breakpoint, before it, and at which it replaces one, after
// it, for handlers that wait. Others' stores aren't known to these.
func (h *Hand) written(x kapi.Context, addr arch.Addr, b []byte, after bool) {
	for _, p := range h.breaks {
		if k := p.at - addr; p.waits && k < arch.Addr(len(b)) && h.k.M.Arch().IsBreakpoint(arch.Word(b[k:])) != after {
			p.here.WriteOnce(x, !after)
		}
	}
}
