package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OwnedBreakpoint is property B1: the notifier chain finds an owner for every
// breakpoint.
//
// Based on: Trap, Claim, Return, Oops.
var OwnedBreakpoint = Property{
	ID:   "B1",
	Name: "owned-breakpoint",
	Says: "Every breakpoint that a CPU takes is owned by exactly one of the text patcher, kprobes, a debugger, or the fallback for breakpoints that are gone, and every trap of a single step by kprobes.",
	Kinds: []traces.Kind{
		smpev.Trap, smpev.Claim, smpev.Return, smpev.Oops,
	},
	Reads: []traces.Kind{smpev.Trap},
	New:   func(s *Scene) Monitor { return &ownedBreakpoint{s} },
	Alone: true,
}

var ownerNames = [...]string{"nobody", "the text patcher", "kprobes", "the fallback", smpev.OwnerDebugger: "the debugger"}

func owner(o uint64) string {
	if o < uint64(len(ownerNames)) && ownerNames[o] != "" {
		return ownerNames[o]
	}
	return "an unknown owner"
}

type ownedBreakpoint struct{ scene *Scene }

func (m *ownedBreakpoint) Reset() {}

func (m *ownedBreakpoint) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Claim:
		if e.A != smpev.VecBP {
			return nil
		}
		f := m.scene.claimed
		if f == nil {
			return found(e, e.B-1, "hasn't taken the breakpoint at %#x that %s claims", e.B-1, owner(e.C))
		}
		if f.claims > 1 {
			return found(e, e.B-1, "takes the breakpoint at %#x, and it has two owners: %s, then %s", e.B-1, owner(f.before), owner(e.C))
		}
	case smpev.Return:
		if f := m.scene.popped; f != nil && f.vector == smpev.VecBP && f.claims == 0 {
			return found(e, f.ip-1, "takes the breakpoint at %#x, and it has no owner: returns to %#x", f.ip-1, e.B)
		}
		if f := m.scene.popped; f != nil && f.vector == smpev.VecDB && f.claims == 0 {
			return found(e, f.ip, "takes the trap of a single step at %#x, and nobody steps it", f.ip)
		}
	case smpev.Oops:
		if e.A != smpev.VecBP {
			return nil
		}
		if f := m.scene.frames.find(e); f == nil || f.claims == 0 {
			return found(e, e.B-1, "takes the breakpoint at %#x, and it has no owner: the kernel dies", e.B-1)
		}
	}
	return nil
}

func (m *ownedBreakpoint) End(bool) *traces.Finding { return nil }
