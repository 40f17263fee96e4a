package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Returns is property P3: the calls of the API return, within a bound. The bound isn't in steps,
// because a schedule lets others step as long as it likes. Time is counted in rounds, as for
// asynchronous algorithms: a round is over when every task that had or wanted a CPU at its
// beginning has had one and given it up, the timers that were running then have fired, and the
// handlers in which idle CPUs stood have returned. A fair schedule has infinitely many rounds; in
// an unfair one they are long, but a call doesn't take more of them.
//
// A call that gives up nothing, and keeps its CPU from others, lasts one round;
// Progress reports a run that doesn't end.
//
// Based on: the API calls and the switches against Wake, Gives and Due: which tasks
// have had a CPU meanwhile.
var Returns = Property{
	ID:   "P3",
	Name: "returns",
	Says: "A call of the API, or a write of a switch, returns before every task has had a CPU and given it up 60 " +
		"times for each task and for each such call that has begun since, or was under way.",
	Kinds: []traces.Kind{smpev.Wake, smpev.Gives, smpev.Due, smpev.Trap, smpev.Return, kpev.ApiEnter, kpev.ApiReturn,
		kpev.Sysctl, kpev.Enabled},
	Reads: []traces.Kind{smpev.Trap, smpev.Return},
	New:   func(s *Scene) Monitor { return &returns{scene: s} },
	Alone: true, // see type returns
}

// roundsEach is the bound. The longest part of a call is a run of the optimizer, which
// may wait for three grace periods, and which others wait for. In two rounds every task
// has been through the scheduler, and in the third a task that waited for that has a
// CPU again; so a run takes ten rounds. A call waits for one or two runs, and for one
// more for each call that may lock the mutex before it: those that begin after it, and
// those in progress when it begins, including the others of its own array, which are
// reported together and made one after another. A write of 0 to the sysctl waits for as
// many runs as it takes to empty the lists, to which each task may add. In storms and
// drawn scenarios calls have taken up to 2.5 rounds for each task and call, and writes
// 6.8.
const roundsEach = 60

// The order of two events may make a difference of a round. Searches that skip orders, and proofs, claim nothing
// about this property; its findings in their runs are still true. The memory of returns isn't part of a state (the
// tags of its fields): otherwise no two states would be equal.
type returns struct {
	scene *Scene
	wants tasks `state:"skip: a proof claims nothing of it"` // the tasks that have a CPU, or want one
	// tasks that had or wanted a CPU when the round began and haven't given it up
	left tasks `state:"skip: a proof claims nothing of it"`
	due  tasks `state:"skip: a proof claims nothing of it"` // the tasks that a timer is to wake
	// those of due at the beginning of the round that haven't been woken
	still  tasks     `state:"skip: a proof claims nothing of it"`
	seen   tasks     `state:"skip: a proof claims nothing of it"` // the tasks that have ever wanted a CPU
	many   uint32    `state:"skip: a proof claims nothing of it"` // the number of seen
	since  uint32    `state:"skip: a proof claims nothing of it"` // the event with which the round began
	rounds uint32    `state:"skip: a proof claims nothing of it"` // begun so far
	begun  uint32    `state:"skip: a proof claims nothing of it"` // calls begun so far
	calls  []lasting `state:"skip: a proof claims nothing of it"` // calls in progress
}

// A lasting call hasn't returned.
type lasting struct {
	task          uint8
	kind          traces.Kind // of the event that it began with
	what, about   uint64      // for the API: the call, and the probe
	rounds, begun uint32      // when it began
	others        uint32      // calls in progress then
}

// A tasks is a set of tasks.
type tasks [tasksMax / 64]uint64

func (t *tasks) has(n uint64) bool { return t[n%tasksMax/64]>>(n%64)&1 != 0 }
func (t *tasks) add(n uint64)      { t[n%tasksMax/64] |= 1 << (n % 64) }
func (t *tasks) del(n uint64)      { t[n%tasksMax/64] &^= 1 << (n % 64) }

func (m *returns) Reset() { *m = returns{scene: m.scene, calls: m.calls[:0]} }

func (m *returns) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Wake:
		m.wants.add(e.A)
		if !m.seen.has(e.A) {
			m.seen.add(e.A)
			m.many++
		}
	case smpev.Gives:
		return m.gives(e)
	case smpev.Due:
		if e.B == 0 {
			m.due.add(e.A)
			break
		}
		m.due.del(e.A)
		m.still.del(e.A)
	case kpev.ApiEnter:
		m.begin(lasting{task: e.Task, kind: e.Kind, what: e.A, about: e.B})
	case kpev.ApiReturn:
		m.end(lasting{task: e.Task, kind: kpev.ApiEnter, what: e.A, about: e.B})
	case kpev.Sysctl, kpev.Enabled:
		if c := (lasting{task: e.Task, kind: e.Kind}); e.B == 0 {
			m.begin(c)
		} else {
			m.end(c)
		}
	}
	return nil
}

func (m *returns) begin(c lasting) {
	m.begun++
	c.rounds, c.begun, c.others = m.rounds, m.begun, uint32(len(m.calls))
	m.calls = append(m.calls, c)
}

func (m *returns) end(c lasting) {
	for i := range m.calls {
		if o := &m.calls[i]; o.task == c.task && o.kind == c.kind && o.what == c.what && o.about == c.about {
			m.calls = append(m.calls[:i], m.calls[i+1:]...)
			return
		}
	}
}

// gives handles a Gives event: a CPU is given up.
func (m *returns) gives(e *traces.Event) *traces.Finding {
	if e.C&smpev.GiveRests != 0 {
		m.wants.del(e.A)
	}
	if e.C != 0 {
		m.left.del(e.A)
	}
	if m.left != (tasks{}) || m.still != (tasks{}) || m.held() {
		return nil
	}
	m.rounds++
	m.since = e.Seq
	m.left, m.still = m.wants, m.due
	for i := range m.calls {
		if f := m.late(e, &m.calls[i]); f != nil {
			return f
		}
	}
	return nil
}

// held reports whether a CPU that idles is still in the handler of an interrupt that came
// before the round began: grace periods wait for that. An idle task is never woken.
func (m *returns) held() bool {
	for i, open := range m.scene.frames.tasks {
		if i > 0 && len(open) > 0 && open[0].seq < m.since && !m.seen.has(uint64(i-1)) {
			return true
		}
	}
	return false
}

// late checks whether a call has lasted too long. The round in which it began doesn't
// count.
func (m *returns) late(e *traces.Event, c *lasting) *traces.Finding {
	since := m.begun - c.begun + c.others
	most := roundsEach * (m.many + since)
	if m.rounds-c.rounds <= most+1 {
		return nil
	}
	what, place := "a write of kprobes-optimization", uint64(0)
	switch c.kind {
	case kpev.Enabled:
		what = "a write of kprobes/enabled"
	case kpev.ApiEnter:
		what = kpev.Verbs.Name(c.what)
		if i := m.scene.probes.index(c.about); i >= 0 {
			place = m.scene.probes.list[i].addr
		}
	}
	return found(e, place,
		"gives up its CPU, as everybody has %d times since %s began in task%d, which hasn't returned: with %d "+
			"tasks, and %d calls since then or under way, that is too often",
		most+1, what, c.task, m.many, since)
}

func (m *returns) End(bool) *traces.Finding { return nil }
