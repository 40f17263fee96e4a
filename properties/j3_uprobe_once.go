package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// UprobeOnce is property J3: the contract of uprobes.
//
// Based on: Uprobe. A task's hits follow each other. Trap, Claim and Return say whether the trap has been claimed: the
// chain that claims it runs with interrupts off, and the handler may sleep.
var UprobeOnce = Property{
	ID:   "J3",
	Name: "uprobe-once",
	Says: "Each time that a task reaches a uprobe its handler runs exactly once, on the way back to user mode and " +
		"not before the trap is claimed; then the instruction's copy is stepped once, and then the task continues " +
		"in user mode.",
	Kinds: []traces.Kind{smpev.Uprobe, smpev.Trap, smpev.Claim, smpev.Return},
	Reads: []traces.Kind{smpev.Trap, smpev.Claim, smpev.Return},
	New:   func(s *Scene) Monitor { return &uprobeOnce{scene: s} },
	Alone: true,
}

type uprobeOnce struct {
	scene *Scene
	hits  []uprobeHit `state:"trimmed: made when a task hits a uprobe"`
}

// An uprobeHit is what a task has done of a hit.
type uprobeHit struct {
	open        bool
	runs, steps uint8
}

func (m *uprobeOnce) Reset() { clear(m.hits) }

func (m *uprobeOnce) Event(e *traces.Event) *traces.Finding {
	for int(e.Task) >= len(m.hits) {
		m.hits = append(m.hits, uprobeHit{})
	}
	h := &m.hits[e.Task]
	switch e.B {
	case smpev.UprobeHit:
		if h.open && h.runs > 0 {
			return found(e, e.A, "is sent back to the uprobe at %#x, whose handler has run", e.A)
		}
		h.open = true
	case smpev.UprobeRuns:
		if h.runs++; !h.open || h.runs > 1 || h.steps > 0 {
			return found(e, e.A, "runs the handler of the uprobe at %#x, hit once, %d times", e.A, h.runs)
		}
		if open := *m.scene.frames.of(e.Task); len(open) > 0 && open[len(open)-1].claims == 0 {
			return found(e, e.A, "runs the handler of the uprobe at %#x with interrupts off, before the trap "+
				"is claimed", e.A)
		}
	case smpev.UprobeSteps:
		if h.steps++; h.runs != 1 || h.steps > 1 {
			return found(e, e.A, "steps the copy of the instruction at the uprobe %#x: the handler has run %d times, "+
				"and it has been stepped %d times", e.A, h.runs, h.steps)
		}
	default:
		was := *h
		if *h = (uprobeHit{}); was.runs != 1 || was.steps != 1 {
			return found(e, e.A, "continues in user mode after the uprobe at %#x: its handler has run %d times, and "+
				"the instruction's copy was stepped %d times", e.A, was.runs, was.steps)
		}
	}
	return nil
}

func (m *uprobeOnce) End(drained bool) *traces.Finding { return nil }
