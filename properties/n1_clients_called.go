package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ClientsCalled is property N1: the contract of ftrace with its clients, fprobes among them. A client is registered
// from the return of a call that attaches it to the beginning of one that detaches it, also while a module is unloaded
// and loaded again. What may have come before such a call, or after it, is left open.
//
// Based on: Exec and Trap at the sites against Serves (the rig calls a client's handler) and Hooks, at each CallEnd;
// Attach and Attached, the calls of the clients.
var ClientsCalled = Property{
	ID:   "N1",
	Name: "clients-called",
	Says: "Each call of a function that begins while a client of ftrace or an fprobe is registered for it is handled " +
		"by that client once, or counted as missed; one that begins after its unregistration isn't. The newest " +
		"client comes first. A site has at most one client that may change the path, and no other reason refuses one.",
	Kinds: []traces.Kind{
		smpev.Leads, smpev.Attach, smpev.Attached, smpev.Serves, smpev.Hooks, smpev.Exec, smpev.Image, smpev.Trap,
		smpev.Claim, smpev.Return, smpev.CallEnd, smpev.Exit, smpev.Agrees,
	},
	Reads:   []traces.Kind{smpev.Image, smpev.Trap, smpev.Claim},
	Needs:   smpev.Leads,
	New:     func(s *Scene) Monitor { return &clientsCalled{scene: s} },
	Touches: clientTouches,
}

// clientsCalled counts, for each task, site and client, from one moment of rest of the task to the next:
//
//	need <= got <= may
//
// got: calls that the client has handled or counted as missed; need: those that it must have; may: those that it may
// have. A call that begins while the client is certainly registered raises both bounds, one that begins while it may be
// raises may. When that knowledge changes the calls under way are left open, unless unregister has waited for them.
type clientsCalled struct {
	scene *Scene
	servants
	sites []uint64    `state:"boot"`
	knows []uint8     // by site, then client: see servants.calls
	order []uint64    // the registered clients whose order is certain, the oldest first
	tasks []callCount `state:"trimmed: made when they are asked for"`
}

// A callCount is what one task has counted since it was last at rest.
type callCount struct {
	hits           []uint32 // by site
	blind          []bool   // likewise: a breakpoint that isn't a patcher's was hit there, and nothing is claimed
	need, got, may []uint32 // by site, then client
	last           handled
	weak           bool // the memory model is the kernel's: a call may not see what was done since it began
}

// handled is the last handler of a call that ftrace has called.
type handled struct {
	client, site, sp uint64 // client 0: none since a call began, or a client came or went
}

func (m *clientsCalled) Reset() {
	m.servants.reset()
	m.sites, m.knows, m.order = m.sites[:0], m.knows[:0], m.order[:0]
	for i := range m.tasks {
		t := &m.tasks[i]
		t.hits, t.blind, t.need, t.got, t.may = t.hits[:0], t.blind[:0], t.need[:0], t.got[:0], t.may[:0]
		t.last, t.weak = handled{}, false
	}
}

func (m *clientsCalled) Event(e *traces.Event) *traces.Finding {
	if len(m.sites) == 0 && e.Kind != smpev.Leads {
		return nil
	}
	switch e.Kind {
	case smpev.Leads:
		m.heads(e)
	case smpev.Agrees:
		m.of(e.Task).weak = true
	case smpev.Attach, smpev.Attached:
		return m.attach(e)
	case smpev.Exec:
		if m.scene.proc.calling(e) {
			m.call(e.Task, e.A, true)
		}
	case smpev.Return:
		m.emulated(e)
	case smpev.Serves:
		return m.serves(e, e.B)
	case smpev.Hooks:
		switch e.B {
		case smpev.HookFollows, smpev.HookRecursion, smpev.HookNone, smpev.HookRaced:
			return m.serves(e, e.C)
		}
	case smpev.CallEnd:
		return m.rest(e)
	case smpev.Exit: // its unfinished calls never return
		m.of(e.Task).clear()
	}
	return nil
}

func (m *clientsCalled) End(bool) *traces.Finding { return nil }

// heads takes a Leads event.
func (m *clientsCalled) heads(e *traces.Event) {
	switch {
	case e.A == 0:
		m.sites = append(m.sites, e.B)
	case e.A < smpev.SubjectDirect:
		m.leads(e)
	case e.A < smpev.SubjectPatch && e.C == 0: // until 5.19 a direct call counts as changing the path
		m.leads(&traces.Event{A: e.A, B: e.B, C: smpev.LeadsModifies})
		m.list[m.index(e.A)].vague = true
	}
	m.knows = m.knows[:0]
	for range m.sites {
		for range m.list {
			m.knows = append(m.knows, callsNot)
		}
	}
}

// of returns the counts of a task.
func (m *clientsCalled) of(task uint8) *callCount {
	i := int(task + 1)
	for i >= len(m.tasks) {
		m.tasks = append(m.tasks, callCount{})
	}
	t := &m.tasks[i]
	for len(t.hits) < len(m.sites) {
		t.hits, t.blind = append(t.hits, 0), append(t.blind, false)
	}
	for len(t.need) < len(m.knows) {
		t.need, t.got, t.may = append(t.need, 0), append(t.got, 0), append(t.may, 0)
	}
	return t
}

func (t *callCount) clear() {
	clear(t.hits)
	clear(t.blind)
	clear(t.need)
	clear(t.got)
	clear(t.may)
}

// call takes the beginning of a call at a site. certain: it begins now, and not earlier.
func (m *clientsCalled) call(task uint8, at uint64, certain bool) {
	s := slices.Index(m.sites, at)
	if s < 0 {
		return
	}
	t := m.of(task)
	t.hits[s]++
	t.last = handled{}
	for i := range m.list {
		k := s*len(m.list) + i
		now := m.knows[k]
		if !certain || t.weak {
			now = callsMaybe
		}
		if now == callsIt {
			t.need[k]++
		}
		if now != callsNot {
			t.may[k]++
		}
	}
}

// emulated takes a call that begins with a patcher's breakpoint, whose handler executes the instruction instead. The
// CPU may also be sent back, to try again.
func (m *clientsCalled) emulated(e *traces.Event) {
	f := m.scene.popped
	if f == nil || f.vector != smpev.VecBP {
		return
	}
	if s := slices.Index(m.sites, m.scene.proc.brokeAt(f.ip)); s >= 0 && f.owner != smpev.OwnerPoke {
		m.of(e.Task).blind[s] = true
	}
	if e.B != m.scene.proc.brokeAt(f.ip) {
		m.call(e.Task, m.scene.proc.brokeAt(f.ip), false)
	}
}

// turns takes new knowledge. waited: nothing that was under way is any more.
func (m *clientsCalled) turns(s, k int, now uint8, waited bool) {
	was := m.knows[k]
	m.knows[k] = now
	for i := range m.tasks {
		t := m.of(uint8(i - 1))
		t.need[k] = t.got[k]
		if was == callsNot {
			t.may[k] = max(t.may[k], t.hits[s])
		}
		if waited && !t.weak {
			t.may[k] = t.got[k]
		}
	}
}

// attach takes the beginning or the end of a call of a client's.
func (m *clientsCalled) attach(e *traces.Event) *traces.Finding {
	i := m.index(e.A)
	if i < 0 {
		return nil
	}
	var a attaching
	if e.B == smpev.AttachUnregister {
		m.order = slices.DeleteFunc(m.order, func(id uint64) bool { return id == e.A })
	}
	if e.Kind == smpev.Attach {
		m.claims(m.begin(e, i), i)
	} else {
		was, ok := m.list[i].on, false
		if a, ok = m.end(e, i); !ok {
			return nil
		}
		if e.B == smpev.AttachRegister && e.C == 0 && !was && !a.crossed && !m.list[i].vague {
			m.order = append(m.order, e.A)
		}
	}
	dynamic := m.list[i].flags&smpev.LeadsDynamic != 0 || e.A >= smpev.SubjectFprobe
	waited := e.Kind == smpev.Attached && e.B == smpev.AttachUnregister && e.C == 0 && dynamic
	for s := range m.sites {
		k := s*len(m.list) + i
		if now := m.calls(i, m.sites[s]); now != m.knows[k] {
			m.turns(s, k, now, waited && now == callsNot)
		}
	}
	for t := range m.tasks {
		m.tasks[t].last = handled{}
	}
	if e.Kind == smpev.Attached {
		return m.oneChanges(e, i, &a)
	}
	return nil
}

// modifies reports whether a client may change the path.
func (s *served) modifies() bool {
	return s.id < smpev.SubjectFprobe && s.flags&smpev.LeadsModifies != 0 || s.vague
}

// claims notes which of the calls under way, a among them, may be refused because another client changes the path, or
// because the client is registered already. The client of a has the index i.
func (m *clientsCalled) claims(a *attaching, i int) {
	if !m.list[i].modifies() {
		return
	}
	a.rivals = m.list[i].on && a.call == smpev.AttachRegister
	for k := range m.open {
		o := &m.open[k]
		twice := o.id == a.id && o != a && o.call == a.call && a.call == smpev.AttachRegister
		if j := m.index(o.id); twice || o.id != a.id && j >= 0 && m.list[j].modifies() {
			o.rivals, a.rivals = true, true
		}
	}
	for _, site := range m.sites {
		wants := m.list[i].wants(site) || a.call == smpev.AttachFilter && a.value == site
		for j := range m.list {
			if j != i && wants && m.list[j].modifies() && m.calls(j, site) != callsNot {
				a.rivals = true
			}
		}
	}
}

// oneChanges judges the answer to a client that may change the path. Its index is i.
func (m *clientsCalled) oneChanges(e *traces.Event, i int, a *attaching) *traces.Finding {
	const ebusy = 16
	s := &m.list[i]
	if !s.modifies() || s.vague || !attaches(e.B) {
		return nil
	}
	if e.C == ebusy && !a.rivals {
		return found(e, a.value, "refuses %s, as if another client changed the path, and none does", s.name())
	}
	for _, site := range m.sites {
		for j := range m.list {
			if o := &m.list[j]; j != i && o.modifies() && m.calls(i, site) == callsIt &&
				m.calls(j, site) == callsIt {
				return found(e, site, "lets %s and %s change the path at %#x", o.name(), s.name(), site)
			}
		}
	}
	return nil
}

// name names a client in messages.
func (s *served) name() string { return subjectName(s.id) }

// serves takes a call of a client's handler, or an fprobe's, from a site.
func (m *clientsCalled) serves(e *traces.Event, site uint64) *traces.Finding {
	i, s := m.index(e.A), slices.Index(m.sites, site)
	if i < 0 || s < 0 {
		return nil
	}
	t, k := m.of(e.Task), s*len(m.list)+i
	if t.got[k]++; t.got[k] > t.may[k] && !t.blind[s] {
		if t.got[k] > t.hits[s] {
			return found(e, site, "has %s handle a call of %#x again: %d for %d calls", subjectName(e.A), site,
				t.got[k], t.hits[s])
		}
		return found(e, site, "has %s handle a call of %#x that began while it wasn't registered",
			subjectName(e.A), site)
	}
	if e.Kind != smpev.Serves {
		return nil
	}
	was := t.last
	t.last = handled{e.A, site, e.C}
	before, after := slices.Index(m.order, was.client), slices.Index(m.order, e.A)
	if was.client != 0 && was.site == site && was.sp == e.C && before >= 0 && before < after {
		return found(e, site, "has %s handle a call of %#x after %s, which was registered earlier",
			subjectName(e.A), site, subjectName(was.client))
	}
	return nil
}

// rest takes the end of a call: if no trap is open all calls of sites are handled, and counting begins again.
func (m *clientsCalled) rest(e *traces.Event) *traces.Finding {
	if len(*m.scene.frames.of(e.Task)) > 0 {
		return nil
	}
	t := m.of(e.Task)
	for k := range t.need {
		if t.got[k] < t.need[k] && !t.blind[k/len(m.list)] {
			site, id := m.sites[k/len(m.list)], m.list[k%len(m.list)].id
			return found(e, site, "ends a call, and %s has handled %d of %d calls of %#x", subjectName(id), t.got[k],
				t.need[k], site)
		}
	}
	t.clear()
	return nil
}

// clientTouches: the calls of clients decide what calls of sites count. Those of a task are its own. One object stands
// for what is known of the clients. Nothing is left for the end.
func clientTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Attach, smpev.Attached, smpev.Leads:
		t.Write(0)
	case smpev.Exec:
		if t.proc.calling(e) {
			t.Read(0)
		}
	case smpev.Return:
		if e.A == smpev.VecBP {
			t.Read(0)
		}
	case smpev.Serves, smpev.Hooks, smpev.CallEnd:
		t.Read(0)
	}
}
