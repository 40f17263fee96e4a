package properties

import (
	"math/bits"
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NewestVersion is property U2: where live patches and direct calls lead a call. It keeps all states in which the calls
// of their API that have ended, in an order that agrees with their times, may have left them. Each answer, and each
// call of a function that begins and ends while none is under way, leaves those that agree with it.
//
// Based on: Attach and Attached, the calls of the API; Arrives, which the machine tells of, at the sites, the
// instructions after them and the functions that they may lead to.
var NewestVersion = Property{
	ID:   "U2",
	Name: "newest-version",
	Says: "A call that begins when a live patch or a direct call of its function has been set runs what was set " +
		"last, and the version beneath when that has been removed. Calls of the API that overlap have an order that agrees " +
		"with their answers and with all later calls, and what is refused changes nothing.",
	Kinds: []traces.Kind{
		smpev.Leads, smpev.Attach, smpev.Attached, smpev.Arrives, smpev.CallEnd, smpev.Exit, smpev.Module, smpev.Agrees,
		smpev.Trap, smpev.Return,
	},
	Reads:   []traces.Kind{smpev.Trap, smpev.Return},
	Needs:   smpev.Leads,
	New:     func(s *Scene) Monitor { return &newestVersion{scene: s} },
	Touches: versionTouches,
}

type newestVersion struct {
	scene    *Scene
	leads    []lead `state:"boot"`
	sections []span `state:"boot"`
	redirect        // the live patches, as one object
	directs  []redirect
	tasks    []arrivals `state:"trimmed: made when they are asked for"`
}

// A lead says that a subject leads calls of a site to a function.
type lead struct{ subject, site, to uint64 }

// arrivals are a task's calls that haven't arrived, the newest last.
type arrivals struct {
	calls []arriving
	weak  bool // the memory model is the kernel's: a call may not see what was done since it began
}

// An arriving is a call of a function with a site that may lead elsewhere.
type arriving struct {
	site, sp uint64
	direct   uint64 // the function that it was led to directly; 0: none so far
	fresh    bool   // no call of the API has been under way since it began
	// the functions in which a live patch may continue it, 0 for the function itself, by what may have been set since
	// it began
	may [mostVersions]uint64
	n   int // how many there are
}

// A redirect is the live patches, or the direct call of one site: the states that it may be in. A state of a direct
// call is the function called, 0 for none; one of live patches has the number of an enabled patch in each byte, the
// newest lowest.
type redirect struct {
	subject uint64
	open    []pending
	states  []redirected
	// the states that answers have ruled out while other calls were under way: an answer tells of the order of calls,
	// and a patch that comes first in it may still be in transition
	past []redirected
	lost bool // there were too many states
}

// A pending is a call of the API that hasn't returned, in a place of its own.
type pending struct {
	task        uint8 // of a place in use
	used        bool
	call, value uint64
	overlaps    bool // another call has been under way
}

// A redirected is a state, and what those calls have returned in it that are done: two bits each.
type redirected struct {
	state uint64
	done  uint32
}

// The answers of redirected.done.
const (
	answerNone = iota
	answerOK
	answerBusy
	answerInvalid
)

const (
	mostPending = 16
	mostStates  = 64

	mostVersions = 8
)

func answerOf(errno uint64) uint32 {
	switch errno {
	case 0:
		return answerOK
	case 16:
		return answerBusy
	}
	return answerInvalid
}

func (r *redirect) reset(subject uint64) {
	r.subject, r.open, r.lost = subject, r.open[:0], false
	r.states, r.past = append(r.states[:0], redirected{}), r.past[:0]
}

func (m *newestVersion) Reset() {
	m.leads, m.sections = m.leads[:0], m.sections[:0]
	m.redirect.reset(smpev.SubjectPatch)
	for i := range m.directs {
		m.directs[i].reset(m.directs[i].subject)
	}
	m.directs = m.directs[:0]
	for i := range m.tasks {
		m.tasks[i].calls, m.tasks[i].weak = m.tasks[i].calls[:0], false
	}
}

func (m *newestVersion) End(bool) *traces.Finding { return nil }

func (m *newestVersion) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Module:
		m.sections = append(m.sections, span{e.A, e.B, e.C})
	case smpev.Leads:
		if e.A > smpev.SubjectPatch || e.A >= smpev.SubjectDirect && e.A < smpev.SubjectPatch && e.C != 0 {
			m.leads = append(m.leads, lead{e.A, e.B, e.C})
		}
	case smpev.Agrees:
		m.of(e.Task).weak = true
	case smpev.Arrives:
		return m.arrives(e)
	case smpev.CallEnd:
		if len(*m.scene.frames.of(e.Task)) == 0 {
			m.of(e.Task).calls = m.of(e.Task).calls[:0]
		}
	case smpev.Exit:
		m.of(e.Task).calls = m.of(e.Task).calls[:0]
	case smpev.Attach:
		if r := m.at(e.A); r != nil {
			r.begin(e)
			m.expand(r)
			m.stale()
		}
	case smpev.Attached:
		if r := m.at(e.A); r != nil {
			m.stale()
			return m.ends(r, e)
		}
	}
	return nil
}

// of returns the calls of a task.
func (m *newestVersion) of(task uint8) *arrivals {
	i := int(task + 1)
	for i >= len(m.tasks) {
		m.tasks = append(m.tasks, arrivals{})
	}
	return &m.tasks[i]
}

// stale notes that a call of the API begins or ends.
func (m *newestVersion) stale() {
	for i := range m.tasks {
		for k := range m.tasks[i].calls {
			c := &m.tasks[i].calls[k]
			c.fresh = false
			m.allow(c)
		}
	}
}

// allow adds the versions that may be the newest of a call's function now.
func (m *newestVersion) allow(c *arriving) {
	for _, list := range [...][]redirected{m.redirect.states, m.redirect.past} {
		for _, v := range list {
			to := m.version(v.state, c.site)
			if c.n > len(c.may) || slices.Contains(c.may[:c.n], to) {
				continue
			}
			if c.n < len(c.may) {
				c.may[c.n] = to
			}
			c.n++
		}
	}
}

// at returns the object that a call of the API is about, nil if it is none of these.
func (m *newestVersion) at(subject uint64) *redirect {
	switch {
	case subject == smpev.SubjectPatch:
		return &m.redirect
	case subject < smpev.SubjectDirect || subject > smpev.SubjectPatch:
		return nil
	}
	for i := range m.directs {
		if m.directs[i].subject == subject {
			return &m.directs[i]
		}
	}
	n := len(m.directs)
	if n == cap(m.directs) {
		m.directs = append(m.directs, redirect{})
	}
	m.directs = m.directs[:n+1]
	m.directs[n].reset(subject)
	return &m.directs[n]
}

// begin takes the beginning of a call of the API.
func (r *redirect) begin(e *traces.Event) {
	p := pending{task: e.Task, used: true, call: e.B, value: e.C}
	free := -1
	for i := range r.open {
		if o := &r.open[i]; o.used {
			o.overlaps, p.overlaps = true, true
		} else {
			free = i
		}
	}
	if free < 0 {
		if len(r.open) == mostPending {
			r.lost = true
			return
		}
		free = len(r.open)
		r.open = append(r.open, pending{})
	}
	r.open[free] = p
}

// expand adds the states to which calls under way may have led already.
func (m *newestVersion) expand(r *redirect) {
	for i := 0; i < len(r.states) && !r.lost; i++ { // those behind come to be meanwhile
		for k := range r.open {
			if v := r.states[i]; r.open[k].used && v.done>>(2*k)&3 == answerNone {
				m.happens(r, v, k)
			}
		}
	}
}

// idle reports whether no call of the API is under way.
func (r *redirect) idle() bool {
	return !slices.ContainsFunc(r.open, func(p pending) bool { return p.used })
}

// ends judges the answer of a call of the API: it happens at some moment between its beginning and now.
func (m *newestVersion) ends(r *redirect, e *traces.Event) *traces.Finding {
	n := slices.IndexFunc(r.open, func(p pending) bool { return p.used && p.task == e.Task && p.call == e.B })
	if n < 0 || r.lost {
		return nil
	}
	r.open[n].used = false
	if r.idle() {
		r.past = r.past[:0]
	}
	r.states = slices.DeleteFunc(r.states, func(v redirected) bool {
		rejected := v.done>>(2*n)&3 != answerOf(e.C)
		if was := (redirected{state: v.state}); rejected && !r.idle() && !slices.Contains(r.past, was) {
			r.past = append(r.past, was)
		}
		return rejected
	})
	for i := range r.states {
		r.states[i].done &^= 3 << (2 * n)
	}
	if len(r.states) == 0 {
		r.lost = true
		return found(e, r.open[n].value, "answers %d to %s, and the calls so far have no order that allows that", e.C,
			callName(r.subject, e.B, r.open[n].value))
	}
	r.unite()
	return nil
}

// unite leaves each state once.
func (r *redirect) unite() {
	keep := r.states[:0]
	for _, v := range r.states {
		if !slices.Contains(keep, v) {
			keep = append(keep, v)
		}
	}
	r.states = keep
}

// happens adds the states to which pending call k leads from one.
func (m *newestVersion) happens(r *redirect, v redirected, k int) {
	p := &r.open[k]
	add := func(state uint64, answer uint32) {
		next := redirected{state, v.done | answer<<(2*k)}
		if !slices.Contains(r.states, next) {
			r.states = append(r.states, next)
		}
		r.lost = r.lost || len(r.states) > mostStates
	}
	state, ok := v.state, uint32(answerInvalid)
	switch {
	case r.subject != smpev.SubjectPatch:
		registers := p.call == smpev.AttachRegister
		switch {
		case registers && state != 0:
			ok = answerBusy
		case registers || state != 0:
			ok, state = answerOK, p.value // unregister's is 0
		}
	case p.call == smpev.AttachRegister && !has(state, p.value) && p.value != 0 && bits.Len64(state) <= 56:
		ok, state = answerOK, state<<8|p.value
	case p.call == smpev.AttachUnregister:
		if n := m.newest(state, p.value); n != 0 {
			ok, state = answerOK, without(state, n)
		}
	}
	add(state, ok)
	switch { // what this property doesn't know of may refuse it
	case p.call == smpev.AttachRegister || p.overlaps && r.subject == smpev.SubjectPatch:
		add(v.state, answerBusy)
	}
	siteless := func(l lead) bool { return l.site == 0 && l.subject == smpev.SubjectPatch+p.value }
	if len(m.sections) > 0 || p.call == smpev.AttachRegister && slices.ContainsFunc(m.leads, siteless) {
		add(v.state, answerInvalid) // the site's module may be unloaded, or a function has none
	}
}

// has reports whether a patch is enabled in a state.
func has(state, patch uint64) bool {
	for ; state != 0; state >>= 8 {
		if state&0xff == patch {
			return true
		}
	}
	return false
}

// without returns a state without a patch.
func without(state, patch uint64) (left uint64) {
	for shift := 0; state != 0; state >>= 8 {
		if n := state & 0xff; n != patch {
			left |= n << shift
			shift += 8
		}
	}
	return left
}

// newest returns the newest patch of a site in a state, 0 if there is none.
func (m *newestVersion) newest(state, site uint64) uint64 {
	for ; state != 0; state >>= 8 {
		if m.leadsTo(smpev.SubjectPatch+state&0xff, site) != 0 {
			return state & 0xff
		}
	}
	return 0
}

// leadsTo returns the function to which a subject leads calls of a site, 0 if there is none.
func (m *newestVersion) leadsTo(subject, site uint64) uint64 {
	for _, l := range m.leads {
		if l.subject == subject && l.site == site {
			return l.to
		}
	}
	return 0
}

// led reports whether a subject between two numbers may lead calls of a site, to a function unless that is 0.
func (m *newestVersion) led(from, end, site, to uint64) bool {
	return slices.ContainsFunc(m.leads, func(l lead) bool {
		return l.subject >= from && l.subject < end && l.site == site && (to == 0 || l.to == to)
	})
}

// The numbers after those of direct calls and of live patches.
const (
	endDirects = smpev.SubjectPatch
	endPatches = smpev.SubjectPatch + 1<<16
)

// arrives takes a call that begins at a site, or is led somewhere. A function that is called directly finds the return
// address of the site on the stack, a word of 4 or 8 bytes, unless calls push nothing.
func (m *newestVersion) arrives(e *traces.Event) *traces.Finding {
	ip, sp, t := e.A, e.B, m.of(e.Task)
	after := m.scene.proc.jumpLen()
	for k := len(t.calls) - 1; k >= 0; k-- {
		c := &t.calls[k]
		switch {
		case c.sp == sp && (ip == c.site+after || m.led(smpev.SubjectPatch, endPatches, c.site, ip)):
			was := *c
			t.calls = t.calls[:k]
			if t.weak {
				return nil
			}
			return m.judge(e, &was)
		case m.scene.proc.below(c.sp, sp) && m.led(smpev.SubjectDirect, endDirects, c.site, ip):
			c.direct = ip
			return nil
		}
	}
	if m.led(smpev.SubjectDirect, endPatches, ip, 0) {
		t.calls = slices.DeleteFunc(t.calls, func(c arriving) bool { return c.sp <= sp })
		fresh := m.idle()
		for i := range m.directs {
			fresh = fresh && m.directs[i].idle()
		}
		c := arriving{site: ip, sp: sp, fresh: fresh}
		m.allow(&c)
		t.calls = append(t.calls, c)
	}
	return nil
}

// judge compares where a call was led with what the states say.
func (m *newestVersion) judge(e *traces.Event, c *arriving) *traces.Finding {
	to := e.A
	if to == c.site+m.scene.proc.jumpLen() {
		to = 0
	}
	for i := range m.directs {
		r := &m.directs[i]
		if !c.fresh || !m.led(r.subject, r.subject+1, c.site, 0) || r.lost {
			continue
		}
		was := r.states[0].state
		r.states = slices.DeleteFunc(r.states, func(v redirected) bool { return v.state != c.direct })
		if len(r.states) == 0 {
			r.lost = true
			return found(e, c.site, "calls %#x, which %s directly; what was set last %s", c.site, calls(c.direct),
				calls(was))
		}
	}
	r := &m.redirect
	if r.lost || !m.led(smpev.SubjectPatch, endPatches, c.site, 0) {
		return nil
	}
	if c.n <= len(c.may) && !slices.Contains(c.may[:c.n], to) {
		r.lost = true
		return found(e, c.site, "calls %#x, which continues in %s; the newest version is %s", c.site, versionName(to),
			versionName(c.may[0]))
	}
	if !c.fresh {
		return nil
	}
	r.states = slices.DeleteFunc(r.states, func(v redirected) bool { return m.version(v.state, c.site) != to })
	if r.lost = len(r.states) == 0; r.lost {
		return found(e, c.site, "calls %#x, which continues in %s; other calls since have continued in %s", c.site,
			versionName(to), versionName(c.may[0]))
	}
	return nil
}

// version returns the function in which the newest patch of a site continues its calls, 0 for the function itself.
func (m *newestVersion) version(state, site uint64) uint64 {
	if n := m.newest(state, site); n != 0 {
		return m.leadsTo(smpev.SubjectPatch+n, site)
	}
	return 0
}

// calls says what a site calls.
func calls(to uint64) string { return "calls " + functionName(to, "nothing") }

// versionName says in which version of a function a call continues.
func versionName(to uint64) string { return functionName(to, "the function itself") }

// versionTouches: the calls of the API decide, with those of the sites, in which states the clients may be. One object
// stands for the states: what calls of sites leave of them doesn't depend on the order of these calls. The calls that
// haven't arrived are their tasks' own.
func versionTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Attach, smpev.Attached:
		t.Write(0)
	case smpev.Arrives:
		t.Read(0)
	}
}
