package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// FprobePairs is property N2: what an fprobe does with the calls of which N1 says that there is something to do.
//
// Based on: Hooks, which the fprobe tells of, against itself, CallEnd, and Attach and Attached, the calls of its
// registration.
var FprobePairs = Property{
	ID:   "N2",
	Name: "fprobe-pairs",
	Says: "When a call that an fprobe follows has returned, its exit handler runs once, unless the fprobe has " +
		"been unregistered since, or is being, or its entry handler left it out; the newest such call returns first. " +
		"A call is missed only while the CPU handles another one, or all hooks are in use: then it is missed. No " +
		"handler runs when unregister has returned.",
	Kinds: []traces.Kind{
		smpev.Leads, smpev.Attach, smpev.Attached, smpev.Hooks, smpev.CallEnd, smpev.Exit, smpev.Trap, smpev.Return,
	},
	Reads:   []traces.Kind{smpev.Trap, smpev.Return},
	Needs:   smpev.Leads,
	New:     func(s *Scene) Monitor { return &fprobePairs{scene: s} },
	Touches: hookTouches,
}

type fprobePairs struct {
	scene *Scene
	servants
	life    []uint32 // by fprobe: how often it has been unregistered
	used    []uint32 // by fprobe: hooks in use, since then
	running []uint32 // by fprobe: handlers under way
	takes   []taking
	tasks   [][]follow `state:"trimmed: made when they are asked for"`
}

// A taking is a call that a CPU handles: others of the same fprobe are missed there meanwhile.
type taking struct {
	fprobe int
	cpu    uint8
	task   uint8
	depth  int  // open traps of the task
	exit   bool // its exit handler runs: other calls are missed only by a kernel's own fprobes
	done   bool // the handler has returned, and only what interrupts its end may still be missed
}

// A follow is a call that an fprobe follows.
type follow struct {
	fprobe int
	site   uint64
	life   uint32 // of the fprobe
	exits  bool   // it has returned, and the exit handler runs
}

func (m *fprobePairs) Reset() {
	m.servants.reset()
	m.life, m.used, m.running, m.takes = m.life[:0], m.used[:0], m.running[:0], m.takes[:0]
	for i := range m.tasks {
		m.tasks[i] = m.tasks[i][:0]
	}
}

func (m *fprobePairs) End(bool) *traces.Finding { return nil }

func (m *fprobePairs) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Leads:
		if e.A >= smpev.SubjectFprobe && e.A < smpev.SubjectDirect {
			if m.leads(e); len(m.used) < len(m.list) {
				m.life, m.used, m.running = append(m.life, 0), append(m.used, 0), append(m.running, 0)
			}
		}
		return nil
	case smpev.CallEnd:
		return m.rest(e)
	case smpev.Exit:
		*m.of(e.Task) = (*m.of(e.Task))[:0]
		return nil
	}
	i := m.index(e.A)
	if i < 0 {
		return nil
	}
	switch e.Kind {
	case smpev.Attach:
		m.begin(e, i)
	case smpev.Attached:
		m.end(e, i)
		if s := &m.list[i]; e.B == smpev.AttachUnregister && e.C == 0 {
			if m.running[i] > 0 && !s.vague {
				return found(e, m.list[i].filter[0], "has unregistered %s, and %d of its handlers still run",
					subjectName(e.A), m.running[i])
			}
			m.life[i]++
			m.used[i] = 0
		}
	case smpev.Hooks:
		return m.hooks(e, i)
	}
	return nil
}

// of returns the calls of a task that fprobes follow, the newest last.
func (m *fprobePairs) of(task uint8) *[]follow {
	i := int(task + 1)
	for i >= len(m.tasks) {
		m.tasks = append(m.tasks, nil)
	}
	return &m.tasks[i]
}

func (m *fprobePairs) hooks(e *traces.Event, i int) *traces.Finding {
	site, calls := e.C, m.of(e.Task)
	depth := len(*m.scene.frames.of(e.Task))
	now, nested := m.taking(e.CPU, i), m.list[i].flags&smpev.HooksNested != 0
	if now >= 0 && (e.B == smpev.HookEntered || e.B == smpev.HookNone) {
		m.takes[now].done = true
	}
	switch e.B {
	case smpev.HookTakes:
		switch {
		case now >= 0 && !nested:
			return found(e, site, "has %s take a call of %#x while it handles another one on the CPU",
				subjectName(e.A), site)
		case nested && m.deep(e, depth) >= deepest:
			return found(e, site, "has %s take a call of %#x while %d handlers of calls that led to it run",
				subjectName(e.A), site, deepest)
		}
		m.takes = append(m.takes, taking{fprobe: i, cpu: e.CPU, task: e.Task, depth: depth})
	case smpev.HookLeaves:
		if now >= 0 {
			m.takes = slices.Delete(m.takes, now, now+1)
		}
	case smpev.HookFollows:
		m.running[i]++
		if hooks := m.list[i].flags & smpev.HooksNumber; hooks > 0 {
			if m.calls(i, site) == callsIt && uint64(m.used[i]) >= hooks {
				return found(e, site, "has %s follow a call of %#x, and all its %d hooks are in use", subjectName(e.A),
					site, hooks)
			}
			m.used[i]++
			*calls = append(*calls, follow{fprobe: i, site: site, life: m.life[i]})
		}
	case smpev.HookSkips:
		last := len(*calls) - 1
		may := m.list[i].flags&smpev.HooksSkip != 0 && now >= 0 && !m.takes[now].done
		if !may || last < 0 || !(*calls)[last].is(i, site) {
			return found(e, site, "has %s leave out the exit handler of a call of %#x that no entry handler refuses",
				subjectName(e.A), site)
		}
		if (*calls)[last].life == m.life[i] {
			m.used[i] = max(m.used[i], 1) - 1
		}
		*calls = (*calls)[:last]
	case smpev.HookEntered:
		m.running[i] = max(m.running[i], 1) - 1
	case smpev.HookRecursion:
		if nested && m.taking(e.CPU, anyFprobe) >= 0 {
			return nil
		}
		if now < 0 || m.takes[now].done && (m.takes[now].task != e.Task || depth <= m.takes[now].depth) {
			return found(e, site, "has %s miss a call of %#x for a handler's sake, and none runs on the CPU",
				subjectName(e.A), site)
		}
	case smpev.HookNone:
		if m.calls(i, site) == callsIt && uint64(m.used[i]) < m.list[i].flags&smpev.HooksNumber {
			return found(e, site, "has %s miss a call of %#x for want of a hook, and %d of %d are in use",
				subjectName(e.A), site, m.used[i], m.list[i].flags&smpev.HooksNumber)
		}
	case smpev.HookRaced:
	default:
		return m.returns(e, i, calls)
	}
	return nil
}

// What taking looks for, besides the entry handler of an fprobe.
const (
	anyFprobe = -1 - iota // a handler of any fprobe
	anExit                // an exit handler
)

// taking returns the index of the newest call that a CPU handles, or -1.
func (m *fprobePairs) taking(cpu uint8, fprobe int) int {
	for i := len(m.takes) - 1; i >= 0; i-- {
		t := &m.takes[i]
		if t.cpu == cpu && (fprobe == anyFprobe || t.exit && fprobe == anExit || !t.exit && t.fprobe == fprobe) {
			return i
		}
	}
	return -1
}

// deepest is how many handlers may run that lead to one another without an interrupt between: a kernel's lock against
// recursion lets one call pass, since an interrupt may come before it is counted (TRACE_CTX_TRANSITION).
const deepest = 2

// deep returns how many handlers of a task run with as many open traps.
func (m *fprobePairs) deep(e *traces.Event, depth int) (n int) {
	for i := range m.takes {
		if t := &m.takes[i]; t.cpu == e.CPU && t.task == e.Task && t.depth == depth {
			n++
		}
	}
	return n
}

// returns takes what happens when a call has returned.
func (m *fprobePairs) returns(e *traces.Event, i int, calls *[]follow) *traces.Finding {
	site, last := e.C, len(*calls)-1
	if last < 0 || !(*calls)[last].is(i, site) || (*calls)[last].exits != (e.B == smpev.HookExited) {
		return found(e, site, "has %s see a call of %#x return that isn't the newest that is followed",
			subjectName(e.A), site)
	}
	current := (*calls)[last].life == m.life[i]
	switch e.B {
	case smpev.HookExit:
		if m.calls(i, site) == callsNot {
			return found(e, site, "runs the exit handler of %s, which isn't registered any more", subjectName(e.A))
		}
		if !current && !m.list[i].vague {
			return found(e, site, "runs the exit handler of %s for a call of %#x that it has followed before it was "+
				"unregistered", subjectName(e.A), site)
		}
		(*calls)[last].exits = true
		m.running[i]++
		m.takes = append(m.takes, taking{fprobe: i, cpu: e.CPU, task: e.Task,
			depth: len(*m.scene.frames.of(e.Task)), exit: true})
		return nil
	case smpev.HookExited:
		if at := m.taking(e.CPU, anExit); at >= 0 {
			m.takes = slices.Delete(m.takes, at, at+1)
		}
		m.running[i] = max(m.running[i], 1) - 1
	case smpev.HookStopped:
		if current && m.calls(i, site) == callsIt {
			return found(e, site, "leaves out the exit handler of %s, which is registered", subjectName(e.A))
		}
	}
	*calls = (*calls)[:last]
	if current {
		m.used[i] = max(m.used[i], 1) - 1
	}
	return nil
}

// is reports whether the call is one of a site that an fprobe follows.
func (f *follow) is(fprobe int, site uint64) bool { return f.fprobe == fprobe && f.site == site }

// rest takes the end of a call: if no trap is open, what the task has called has returned.
func (m *fprobePairs) rest(e *traces.Event) *traces.Finding {
	if len(*m.scene.frames.of(e.Task)) > 0 {
		return nil
	}
	calls := m.of(e.Task)
	if len(*calls) > 0 {
		c := (*calls)[0]
		return found(e, c.site, "ends a call, and %s hasn't seen the return from %#x that it waits for",
			subjectName(m.list[c.fprobe].id), c.site)
	}
	return nil
}

// hookTouches: an object is an fprobe. The calls that it follows are their tasks' own.
func hookTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Attach, smpev.Attached, smpev.Hooks:
		t.Write(e.A)
	}
}
