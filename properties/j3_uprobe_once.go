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
		"it and want the process, those never that are unregistered, or don't want it, of which no handler runs any " +
		"more either, and no task is killed. The same holds for return handlers: each runs once for each call that " +
		"returns, which returns to its caller, and no return uses a uprobe that is freed.",
	Kinds: []traces.Kind{smpev.Uprobe, smpev.Trap, smpev.Claim, smpev.Return},
	Reads: []traces.Kind{smpev.Trap, smpev.Claim, smpev.Return},
	New:   func(s *Scene) Monitor { return &uprobeOnce{scene: s} },
	Alone: true,
}

type uprobeOnce struct {
	scene  *Scene
	hits   []uprobeHit    `state:"trimmed: made when a task hits a uprobe"`
	calls  [][]uprobeCall `state:"trimmed: made when a task calls a function with a uprobe"`
	users  []uprobeUser
	places []uint64 // where processes have the uprobe
	freed  []uint64 // uprobes
}

// An uprobeHit is what a task has done of a hit.
type uprobeHit struct {
	open, plain bool
	runs, steps uint8
	at          uint64 // the uprobe
	owed        uint64 // users, by number: they are registered since before it, and haven't run
	ran         uint64 // those that have
	barred      uint64 // those that didn't want the process when it began
	in          uint64 // that of which the handler runs, and 1
}

// An uprobeCall is a call of the function at a uprobe that is under way.
type uprobeCall struct {
	at, to    uint64 // the uprobe, and where the call is to return
	owed, ran uint64 // users' return handlers, as in uprobeHit
}

// An uprobeUser is what is known of a user. Of calls that overlap it isn't known which was first.
type uprobeUser struct {
	handler uint64
	calls   int    // under way
	several bool   // some overlapped
	is      uint8  // regNo, regMaybe, regYes
	returns bool   // it has a return handler
	skips   uint64 // the processes that it doesn't want, by their number in places
}

func (m *uprobeOnce) Reset() {
	clear(m.hits)
	for i := range m.calls {
		m.calls[i] = m.calls[i][:0]
	}
	m.users, m.places, m.freed = m.users[:0], m.places[:0], m.freed[:0]
}

func (m *uprobeOnce) Event(e *traces.Event) *traces.Finding {
	for int(e.Task) >= len(m.hits) {
		m.hits, m.calls = append(m.hits, uprobeHit{}), append(m.calls, nil)
	}
	switch e.B {
	case smpev.UprobeAdds, smpev.UprobeRemoves, smpev.UprobeAdded, smpev.UprobeRemoved, smpev.UprobeWithReturn,
		smpev.UprobeNoReturn, smpev.UprobeWants, smpev.UprobeSkips:
		return m.registers(e)
	case smpev.UprobeCalls, smpev.UprobeHooks, smpev.UprobeReturns, smpev.UprobeBack, smpev.UprobeLeaves,
		smpev.UprobeLost, smpev.UprobeMakes, smpev.UprobeFrees, smpev.UprobeUses:
		return m.returns(e)
	}
	return m.hit(e, &m.hits[e.Task])
}

// hit judges what becomes of a hit.
func (m *uprobeOnce) hit(e *traces.Event, h *uprobeHit) *traces.Finding {
	switch e.B {
	case smpev.UprobeHit:
		if h.open && h.runs > 0 && len(m.users) == 0 {
			return found(e, e.A, "is sent back to the uprobe at %#x, whose handler has run", e.A)
		}
		m.begin(e, h)
	case smpev.UprobePasses:
		h.plain = true
	case smpev.UprobeRuns:
		return m.runs(e, h)
	case smpev.UprobeEnters, smpev.UprobeToCall, smpev.UprobeToNop, smpev.UprobeStands, smpev.UprobeGone:
		// J3 asks only what comes of it
	case smpev.UprobeSteps, smpev.UprobeEmulates:
		if h.steps++; h.steps > 1 || len(m.users) == 0 && h.runs != 1 {
			return found(e, e.A, "steps the copy of the instruction at the uprobe %#x: the handler has run %d times, "+
				"and it has been stepped %d times", e.A, h.runs, h.steps)
		}
	case smpev.UprobeRan:
		h.in = 0
	case smpev.UprobeKills:
		if e.C != 0 {
			return found(e, e.A, "is killed at the uprobe %#x: it has trapped there, and its process has no uprobes "+
				"by the time that the trap's handler asks", e.A)
		}
		return found(e, e.A, "is killed at the uprobe %#x: the breakpoint stands there, and nothing knows it", e.A)
	default:
		was := *h
		switch *h = (uprobeHit{}); {
		case !was.plain && (was.steps != 1 || len(m.users) == 0 && was.runs != 1):
			return found(e, e.A, "continues in user mode after the uprobe at %#x: its handler has run %d times, and "+
				"the instruction's copy was stepped %d times", e.A, was.runs, was.steps)
		case was.owed != 0:
			return found(e, e.A, "continues in user mode after the uprobe at %#x without a call of the handler %#x, "+
				"which is registered there", e.A, m.handler(was.owed))
		}
	}
	return nil
}

// begin begins a hit: each user that is registered and wants the process is to be called, and, if the function
// returns that is being called, its return handler. The return handlers of users that don't want it may run: no filter
// is asked then (uretprobe_perf_func).
func (m *uprobeOnce) begin(e *traces.Event, h *uprobeHit) {
	*h = uprobeHit{open: true, at: e.A}
	returns, here := uint64(0), m.place(e.A)
	for i := range m.users {
		u, bit := &m.users[i], uint64(1)<<i
		switch {
		case u.skips&here != 0:
			h.barred |= bit
		case u.is == regYes:
			h.owed |= bit
			if u.returns {
				returns |= bit
			}
		}
	}
	if c := m.calls[e.Task]; len(c) > 0 {
		c[len(c)-1].owed = returns
	}
}

// registers notes what becomes of a user, and judges that it is gone.
func (m *uprobeOnce) registers(e *traces.Event) *traces.Finding {
	u := m.user(e.C)
	switch e.B {
	case smpev.UprobeAdds, smpev.UprobeRemoves:
		u.calls++
		u.several, u.is = u.several || u.calls > 1, regMaybe
		m.forgive(e.C, func(uint64) bool { return true })
	case smpev.UprobeWithReturn, smpev.UprobeNoReturn:
		u.returns = e.B == smpev.UprobeWithReturn
	case smpev.UprobeSkips:
		u.skips |= m.place(e.A)
		m.forgive(e.C, func(at uint64) bool { return at == e.A })
	case smpev.UprobeWants:
		u.skips &^= m.place(e.A)
		m.allow(e.C, e.A)
	case smpev.UprobeAdded, smpev.UprobeRemoved:
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
	}
	return nil
}

// place returns the bit of a process, which has the uprobe at an address.
func (m *uprobeOnce) place(at uint64) uint64 {
	i := slices.Index(m.places, at)
	if i < 0 {
		i = len(m.places)
		m.places = append(m.places, at)
	}
	return 1 << i
}

// forgive says that hits and calls under way, at the uprobes that f names, need no longer call a user.
func (m *uprobeOnce) forgive(handler uint64, f func(at uint64) bool) {
	bit := uint64(1) << m.index(handler)
	for i := range m.hits {
		if f(m.hits[i].at) {
			m.hits[i].owed &^= bit
		}
		for k := range m.calls[i] {
			if f(m.calls[i][k].at) {
				m.calls[i][k].owed &^= bit
			}
		}
	}
}

// allow says that hits under way may call a user from now on.
func (m *uprobeOnce) allow(handler, at uint64) {
	bit := uint64(1) << m.index(handler)
	for i := range m.hits {
		if m.hits[i].at == at {
			m.hits[i].barred &^= bit
		}
	}
}

// returns judges what becomes of calls of the function at a uprobe, and of uprobes.
func (m *uprobeOnce) returns(e *traces.Event) *traces.Finding {
	calls := &m.calls[e.Task]
	var top *uprobeCall
	if n := len(*calls); n > 0 {
		top = &(*calls)[n-1]
	}
	switch e.B {
	case smpev.UprobeCalls:
		*calls = append(*calls, uprobeCall{at: e.A, to: e.C})
	case smpev.UprobeReturns:
		return m.returnRuns(e, top)
	case smpev.UprobeBack:
		switch was := *top; {
		case was.to != e.C:
			return found(e, e.A, "returns from the function with the uprobe at %#x to %#x, and was called from %#x",
				e.A, e.C, was.to)
		case was.owed != 0:
			return found(e, e.A, "returns from the function with the uprobe at %#x without a call of the return "+
				"handler of %#x, which is registered there", e.A, m.handler(was.owed))
		}
		*calls = (*calls)[:len(*calls)-1]
	case smpev.UprobeLeaves:
		*calls = (*calls)[:len(*calls)-1]
	case smpev.UprobeLost:
		return found(e, e.A, "is killed: it returns from the function with the uprobe at %#x to the trampoline, and "+
			"no call is known there", e.A)
	case smpev.UprobeMakes:
		m.freed = slices.DeleteFunc(m.freed, func(at uint64) bool { return at == e.C })
	case smpev.UprobeFrees:
		m.freed = append(m.freed, e.C)
	case smpev.UprobeUses:
		if slices.Contains(m.freed, e.C) {
			return found(e, e.A, "returns from the function with the uprobe at %#x, and uses the memory of that "+
				"uprobe, which is freed", e.A)
		}
	}
	return nil
}

// returnRuns judges that a return handler runs for the innermost call c.
func (m *uprobeOnce) returnRuns(e *traces.Event, c *uprobeCall) *traces.Finding {
	i := m.index(e.C)
	bit := uint64(1) << i
	switch {
	case m.users[i].is == regNo:
		return found(e, e.A, "runs the return handler of %#x for the uprobe at %#x, and it is unregistered", e.C, e.A)
	case c.ran&bit != 0:
		return found(e, e.A, "runs the return handler of %#x again for one call at the uprobe %#x", e.C, e.A)
	}
	c.ran |= bit
	c.owed &^= bit
	m.hits[e.Task].in = uint64(i) + 1
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
	case h.barred&bit != 0:
		return found(e, e.A, "runs the handler %#x for a hit of the uprobe at %#x, and it doesn't want the process",
			e.C, e.A)
	case !h.open || h.ran&bit != 0 || h.steps > 0:
		return found(e, e.A, "runs the handler %#x again for one hit of the uprobe at %#x", e.C, e.A)
	}
	h.ran |= bit
	h.owed &^= bit
	h.in = uint64(i) + 1
	return nil
}

// handler returns the handler of the first of some users.
func (m *uprobeOnce) handler(users uint64) uint64 {
	return m.users[bits.TrailingZeros64(users)].handler
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
