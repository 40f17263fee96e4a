package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// HandlerContext is property C1: the context that a handler may rely on.
//
// Based on: Context, against Contexts and the open traps; Sees, against Finds.
var HandlerContext = Property{
	ID:   "C1",
	Name: "handler-context",
	Says: "Handlers run with preemption off; those of a breakpoint with interrupts off, those behind a detour and " +
		"those of return probes as in their edition. A pre_handler sees the instruction pointer after the " +
		"breakpoint, a post_handler at the next instruction.",
	Kinds: []traces.Kind{
		smpev.Trap, smpev.Claim, smpev.Return, kpev.Contexts, kpev.Context, kpev.Finds, kpev.Sees,
	},
	Reads: []traces.Kind{smpev.Trap, smpev.Claim, smpev.Return},
	New:   func(s *Scene) Monitor { return &handlerContext{scene: s} },
	Alone: true, // a task's own open traps decide
}

type handlerContext struct {
	scene           *Scene
	detour, returns bool // with interrupts off
	finds           []ips
}

// ips are the instruction pointers that a probe's handlers must see.
type ips struct{ probe, pre, post uint64 }

func (m *handlerContext) Reset() { m.detour, m.returns, m.finds = false, false, m.finds[:0] }

func (m *handlerContext) Event(e *traces.Event) *traces.Finding {
	if e.Kind == kpev.Contexts {
		m.detour, m.returns = e.A != 0, e.B != 0
		return nil
	}
	if e.Kind == kpev.Finds {
		m.finds = append(m.finds, ips{e.A, e.B, e.C})
		return nil
	}
	if e.Kind == kpev.Sees {
		return m.sees(e)
	}
	off, were := e.C&kpev.IRQsOff != 0, e.C&kpev.WereOff != 0
	trap := m.inBreakpoint(e.Task)
	switch {
	case e.C&kpev.PreemptOff == 0:
		return found(e, 0, "runs a handler of probe %d with preemption on", e.A)
	case e.B == kpev.Fault: // as they were at the fault
	case e.B == kpev.Jump:
		if !off { // setjmp_pre_handler turns them off
			return found(e, 0, "runs the entry of probe %d with interrupts on", e.A)
		}
	case trap && !off:
		return found(e, 0, "runs a handler of probe %d in a breakpoint with interrupts on", e.A)
	case trap:
	case e.B == kpev.Return:
		return m.interrupts(e, m.returns, off, were)
	default:
		return m.interrupts(e, m.detour, off, were)
	}
	return nil
}

// sees compares the instruction pointer that a handler sees with the right one.
func (m *handlerContext) sees(e *traces.Event) *traces.Finding {
	for _, f := range m.finds {
		if f.probe != e.A {
			continue
		}
		want, name := f.pre, "pre_handler"
		if e.B == kpev.Post {
			want, name = f.post, "post_handler"
		}
		if want != 0 && e.C != want {
			return found(e, want, "runs the %s of probe %d with the instruction pointer at %#x; it should be %#x",
				name, e.A, e.C, want)
		}
	}
	return nil
}

// interrupts compares the interrupt flag with the rule: off, or otherwise as they were.
func (m *handlerContext) interrupts(e *traces.Event, rule, off, were bool) *traces.Finding {
	switch {
	case rule && !off:
		return found(e, 0, "runs a handler of probe %d with interrupts on; in this edition they are off there", e.A)
	case !rule && off && !were:
		return found(e, 0, "runs a handler of probe %d with interrupts off; in this edition they stay on there", e.A)
	case !rule && !off && were:
		return found(e, 0, "runs a handler of probe %d with interrupts on, which were off where it was hit", e.A)
	}
	return nil
}

// inBreakpoint reports whether the innermost trap of a task is that of a breakpoint or of a step, in the kernel.
func (m *handlerContext) inBreakpoint(task uint8) bool {
	open := *m.scene.frames.of(task)
	if len(open) == 0 {
		return false
	}
	f := &open[len(open)-1]
	return !f.user && (f.vector == smpev.VecBP || f.vector == smpev.VecDB)
}

func (m *handlerContext) End(bool) *traces.Finding { return nil }
