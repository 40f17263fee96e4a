package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OwnedBreakpoint is property B1: the notifier chain finds an owner for every
// breakpoint.
//
// Based on: Trap, Claim, Return, Oops, Uprobe.
var OwnedBreakpoint = Property{
	ID:   "B1",
	Name: "owned-breakpoint",
	Says: "Every breakpoint that a CPU takes is owned by exactly one of the text patcher, kprobes, a debugger, or " +
		"the fallback for breakpoints that are gone, and every trap of a single step by kprobes; traps of user " +
		"mode are owned by uprobes, which own no others, and user mode continues after the instruction.",
	Kinds: []traces.Kind{
		smpev.Trap, smpev.Claim, smpev.Return, smpev.Oops, smpev.Uprobe,
	},
	Reads: []traces.Kind{smpev.Trap},
	New:   func(s *Scene) Monitor { return &ownedBreakpoint{s} },
	Alone: true,
}

var ownerNames = [...]string{"nobody", "the text patcher", "kprobes", "the fallback",
	smpev.OwnerDebugger: "the debugger", smpev.OwnerUprobe: "uprobes"}

func owner(o uint64) string {
	if o < uint64(len(ownerNames)) && ownerNames[o] != "" {
		return ownerNames[o]
	}
	return "an unknown owner"
}

type ownedBreakpoint struct{ scene *Scene }

func (m *ownedBreakpoint) Reset() {}

func (m *ownedBreakpoint) Event(e *traces.Event) *traces.Finding {
	at := m.scene.proc.brokeAt(e.B) // of a breakpoint's trap
	switch e.Kind {
	case smpev.Claim:
		f := m.scene.claimed
		if f != nil && f.user != (e.C == smpev.OwnerUprobe) && (e.A == smpev.VecBP || e.A == smpev.VecDB) {
			if f.user {
				return found(e, e.B, "takes %s at %#x in user mode, and %s claims it", smpev.Vector(e.A), e.B,
					owner(e.C))
			}
			return found(e, e.B, "takes %s at %#x in the kernel, and uprobes claims it", smpev.Vector(e.A), e.B)
		}
		if e.A != smpev.VecBP {
			return nil
		}
		if f == nil {
			return found(e, at, "hasn't taken the breakpoint at %#x that %s claims", at, owner(e.C))
		}
		if f.claims > 1 {
			return found(e, at, "takes the breakpoint at %#x, and it has two owners: %s, then %s",
				at, owner(f.before), owner(e.C))
		}
	case smpev.Return:
		if f := m.scene.popped; f != nil && f.vector == smpev.VecBP && f.claims == 0 {
			at := m.scene.proc.brokeAt(f.ip)
			return found(e, at, "takes the breakpoint at %#x, and it has no owner: returns to %#x", at, e.B)
		}
		if f := m.scene.popped; f != nil && f.vector == smpev.VecDB && f.claims == 0 {
			return found(e, f.ip, "takes the trap of a single step at %#x, and nobody steps it", f.ip)
		}
	case smpev.Uprobe:
		if e.B == smpev.UprobeStrays {
			return found(e, e.A, "hits the uprobe at %#x, and goes on in user mode at %#x, or with other registers",
				e.A, e.C)
		}
	case smpev.Oops:
		if e.A != smpev.VecBP {
			return nil
		}
		if f := m.scene.frames.find(e); f == nil || f.claims == 0 {
			return found(e, at, "takes the breakpoint at %#x, and it has no owner: the kernel dies", at)
		}
	}
	return nil
}

func (m *ownedBreakpoint) End(bool) *traces.Finding { return nil }
