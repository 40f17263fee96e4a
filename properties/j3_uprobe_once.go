package properties

import (
	"math/bits"
	"slices"

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
		"in user mode. Where users come and go, those run once that are registered from before the hit until after " +
		"it, those never that are unregistered, of which no handler runs any more either, and no task is killed.",
	Kinds: []traces.Kind{smpev.Uprobe, smpev.Trap, smpev.Claim, smpev.Return},
	Reads: []traces.Kind{smpev.Trap, smpev.Claim, smpev.Return},
	New:   func(s *Scene) Monitor { return &uprobeOnce{scene: s} },
	Alone: true,
}

type uprobeOnce struct {
	scene *Scene
	hits  []uprobeHit `state:"trimmed: made when a task hits a uprobe"`
	users []uprobeUser
}

// An uprobeHit is what a task has done of a hit.
type uprobeHit struct {
	open, plain bool
	runs, steps uint8
	owed        uint64 // users, by number: they are registered since before it, and haven't run
	ran         uint64 // those that have
	in          uint64 // that of which the handler runs, and 1
}

// An uprobeUser is what is known of a user. Of calls that overlap it isn't known which was first.
type uprobeUser struct {
	handler uint64
	calls   int   // under way
	several bool  // some overlapped
	is      uint8 // regNo, regMaybe, regYes
}

func (m *uprobeOnce) Reset() {
	clear(m.hits)
	m.users = m.users[:0]
}

func (m *uprobeOnce) Event(e *traces.Event) *traces.Finding {
	for int(e.Task) >= len(m.hits) {
		m.hits = append(m.hits, uprobeHit{})
	}
	h := &m.hits[e.Task]
	switch e.B {
	case smpev.UprobeHit:
		if h.open && h.runs > 0 && len(m.users) == 0 {
			return found(e, e.A, "is sent back to the uprobe at %#x, whose handler has run", e.A)
		}
		*h = uprobeHit{open: true}
		for i, u := range m.users {
			if u.is == regYes {
				h.owed |= 1 << i
			}
		}
	case smpev.UprobePasses:
		h.plain = true
	case smpev.UprobeRuns:
		return m.runs(e, h)
	case smpev.UprobeSteps:
		if h.steps++; h.steps > 1 || len(m.users) == 0 && h.runs != 1 {
			return found(e, e.A, "steps the copy of the instruction at the uprobe %#x: the handler has run %d times, "+
				"and it has been stepped %d times", e.A, h.runs, h.steps)
		}
	case smpev.UprobeAdds, smpev.UprobeRemoves:
		u := m.user(e.C)
		u.calls++
		u.several, u.is = u.several || u.calls > 1, regMaybe
		for i := range m.hits {
			m.hits[i].owed &^= 1 << m.index(e.C)
		}
	case smpev.UprobeRan:
		h.in = 0
	case smpev.UprobeAdded, smpev.UprobeRemoved:
		u := m.user(e.C)
		if e.B == smpev.UprobeRemoved && u.calls == 1 && !u.several && m.runsNow(e.C) {
			return found(e, e.A, "has unregistered the handler %#x of the uprobe at %#x, and a task still runs it", e.C,
				e.A)
		}
		if u.calls--; u.calls > 0 {
			break
		}
		switch {
		case u.several:
		case e.B == smpev.UprobeAdded:
			u.is = regYes
		default:
			u.is = regNo
		}
		u.several = false
	case smpev.UprobeKills:
		return found(e, e.A, "is killed at the uprobe %#x: the breakpoint stands there, and nothing knows it", e.A)
	default:
		was := *h
		switch *h = (uprobeHit{}); {
		case !was.plain && (was.steps != 1 || len(m.users) == 0 && was.runs != 1):
			return found(e, e.A, "continues in user mode after the uprobe at %#x: its handler has run %d times, and "+
				"the instruction's copy was stepped %d times", e.A, was.runs, was.steps)
		case was.owed != 0:
			return found(e, e.A, "continues in user mode after the uprobe at %#x without a call of the handler %#x, "+
				"which is registered there", e.A, m.users[bits.TrailingZeros64(was.owed)].handler)
		}
	}
	return nil
}

// runs judges that a handler runs.
func (m *uprobeOnce) runs(e *traces.Event, h *uprobeHit) *traces.Finding {
	if open := *m.scene.frames.of(e.Task); len(open) > 0 && open[len(open)-1].claims == 0 {
		return found(e, e.A, "runs the handler of the uprobe at %#x with interrupts off, before the trap "+
			"is claimed", e.A)
	}
	h.runs++
	if len(m.users) == 0 {
		if !h.open || h.runs > 1 || h.steps > 0 {
			return found(e, e.A, "runs the handler of the uprobe at %#x, hit once, %d times", e.A, h.runs)
		}
		return nil
	}
	i := m.index(e.C)
	bit := uint64(1) << i
	switch {
	case m.users[i].is == regNo:
		return found(e, e.A, "runs the handler %#x for a hit of the uprobe at %#x, and it is unregistered", e.C, e.A)
	case !h.open || h.ran&bit != 0 || h.steps > 0:
		return found(e, e.A, "runs the handler %#x again for one hit of the uprobe at %#x", e.C, e.A)
	}
	h.ran |= bit
	h.owed &^= bit
	h.in = uint64(i) + 1
	return nil
}

// runsNow reports whether a task runs a handler.
func (m *uprobeOnce) runsNow(handler uint64) bool {
	n := uint64(m.index(handler)) + 1
	return slices.ContainsFunc(m.hits, func(h uprobeHit) bool { return h.in == n })
}

// index returns the number of a user, which is made at its first call.
func (m *uprobeOnce) index(handler uint64) int {
	i := slices.IndexFunc(m.users, func(u uprobeUser) bool { return u.handler == handler })
	if i < 0 {
		i = len(m.users)
		m.users = append(m.users, uprobeUser{handler: handler})
	}
	return i
}

func (m *uprobeOnce) user(handler uint64) *uprobeUser { return &m.users[m.index(handler)] }

func (m *uprobeOnce) End(drained bool) *traces.Finding { return nil }
