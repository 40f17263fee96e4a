package properties

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/traces"
)

// Monitors runs the monitors of some properties, run after run, over one Scene. It is a
// sink for all kinds that the properties need.
type Monitors struct {
	scene  Scene
	list   []member
	heard  []heard // by kind
	kinds  []traces.Kind
	finder *Property
	awake  bool // they also get irrelevant events

	pass   Set                                       // a run goes on after a finding of these
	muted  Set                                       // those of pass that were broken in this run
	known  func(p *Property, f *traces.Finding) bool // a run also goes on after such findings; nil: none
	broken []Broken                                  // their findings, in order
}

// heard lists the receivers of a kind of event.
type heard struct {
	ms      *Monitors
	take    func(s *Scene, e *traces.Event) (dull bool) // the scene gets them first; nil: they don't concern it
	members []member
	sink    traces.Sink // a log's
}

// A sole monitor gets all events of a kind, which don't concern the scene.
type sole struct {
	ms *Monitors
	*member
}

type member struct {
	property *Property
	monitor  Monitor
	bit      Set
}

// A Broken is a property that a run has broken.
type Broken struct {
	Property *Property
	Finding  traces.Finding
	Ignored  bool // by the user: it doesn't count as a violation of the run
	Known    bool // see Monitors.Know; it doesn't count either
}

// NewMonitors makes the monitors of the properties, for runs on a processor. If several find a fault in
// one event, the first of list gets the finding.
func NewMonitors(a *arch.Arch, list ...*Property) *Monitors {
	ms := &Monitors{scene: Scene{proc: processorOf(a)}, list: make([]member, len(list))}
	for i, p := range list {
		ms.list[i] = member{p, p.New(&ms.scene), SetOf(p)}
		for _, k := range p.Kinds {
			for int(k) >= len(ms.heard) {
				ms.heard = append(ms.heard, heard{ms: ms, take: takes[traces.Kind(len(ms.heard))]})
			}
			if !slices.Contains(ms.kinds, k) {
				ms.kinds = append(ms.kinds, k)
			}
			if !p.reads(k) {
				ms.heard[k].members = append(ms.heard[k].members, ms.list[i])
			}
		}
	}
	ms.sinks()
	return ms
}

// sinks lists the monitors that get each kind of event from a log, so that an event reaches them
// without a search.
func (ms *Monitors) sinks() {
	for k := range ms.heard {
		h := &ms.heard[k]
		if h.sink = h; h.take == nil && len(h.members) == 1 { // most
			h.sink = &sole{ms, &h.members[0]}
		}
	}
}

// Kinds returns the kinds that they need, each once.
func (ms *Monitors) Kinds() []traces.Kind { return ms.kinds }

// State returns pointers to everything that they and their scene remember of a run.
func (ms *Monitors) State() []any {
	list := []any{&ms.scene}
	for i := range ms.list {
		list = append(list, ms.list[i].monitor)
	}
	return append(list, &ms.muted)
}

// Pass makes runs go on after properties of the set were broken. A monitor with a
// finding gets no more events until the next run: it counts once a run, and its memory
// can't mislead it. The other monitors go on as before. Their findings may be
// consequences: after T1, T2, B1, S1 or O1 a CPU may run garbage.
func (ms *Monitors) Pass(set Set) { ms.pass = set }

// Know makes runs go on after findings that known accepts. Unlike after Pass, the monitor goes on judging with its
// memory: most of it is the scene's, which is right whatever was found. It doesn't find the same at the same place
// again.
func (ms *Monitors) Know(known func(p *Property, f *traces.Finding) bool) { ms.known = known }

// Mute gives the monitors of the set no more events of this run: it isn't judged by them.
func (ms *Monitors) Mute(set Set) { ms.muted |= set }

// Passed returns the broken properties of that set and the known findings, in the order in which they
// were found. It is valid until Reset.
func (ms *Monitors) Passed() []Broken { return ms.broken }

// KeepAwake gives the monitors irrelevant events too, which changes nothing but speed.
func (ms *Monitors) KeepAwake() { ms.awake = true }

// Reset forgets the last run. It keeps the memory and doesn't allocate.
func (ms *Monitors) Reset() {
	ms.finder, ms.muted, ms.broken = nil, 0, ms.broken[:0]
	ms.scene.reset()
	for i := range ms.list {
		ms.list[i].monitor.Reset()
	}
}

// SameText declares, right after Reset, that the run has the same text as the last one, and that its Loads won't be
// sent.
func (ms *Monitors) SameText() { ms.scene.text.again() }

// Subscribe makes them sinks of a log.
func (ms *Monitors) Subscribe(l *traces.Log) {
	for _, k := range ms.kinds {
		l.Subscribe(ms.heard[k].sink, k)
	}
}

// Unsubscribe undoes Subscribe.
func (ms *Monitors) Unsubscribe(l *traces.Log) {
	for _, k := range ms.kinds {
		l.Unsubscribe(ms.heard[k].sink, k)
	}
}

// Event implements traces.Sink, for events of all kinds that they need.
func (ms *Monitors) Event(e *traces.Event) *traces.Finding { return ms.heard[e.Kind].Event(e) }

// Event implements traces.Sink.
func (h *heard) Event(e *traces.Event) *traces.Finding {
	ms := h.ms
	if h.take != nil && h.take(&ms.scene, e) && !ms.awake {
		return nil
	}
	members := h.members
	for i := range members {
		m := &members[i]
		if ms.muted&m.bit != 0 {
			continue
		}
		if len(ms.scene.excused) > 0 {
			ms.scene.judging = m.bit
		}
		if f := m.monitor.Event(e); f != nil {
			if !ms.passed(m, f) {
				return ms.found(m, f)
			}
		}
	}
	return nil
}

// Event implements traces.Sink.
func (s *sole) Event(e *traces.Event) *traces.Finding {
	if s.ms.muted&s.bit != 0 {
		return nil
	}
	if len(s.ms.scene.excused) > 0 {
		s.ms.scene.judging = s.bit
	}
	if f := s.monitor.Event(e); f != nil && !s.ms.passed(s.member, f) {
		return s.ms.found(s.member, f)
	}
	return nil
}

// End is called after the last event of a run that no finding ended; see Monitor.
func (ms *Monitors) End(drained bool) *traces.Finding {
	for i := range ms.list {
		m := &ms.list[i]
		if ms.muted&m.bit != 0 {
			continue
		}
		ms.scene.judging = m.bit
		for found := -1; found < len(ms.broken); { // once more behind what is known
			found = len(ms.broken)
			if f := m.monitor.End(drained); f != nil && !ms.passed(m, f) {
				return ms.found(m, f)
			}
			if ms.known == nil || ms.muted&m.bit != 0 {
				break
			}
		}
	}
	return nil
}

// passed reports whether the run goes on after a finding, and mutes the monitor if so, unless the finding is known.
func (ms *Monitors) passed(m *member, f *traces.Finding) bool {
	if ms.known != nil && ms.known(m.property, f) {
		if x := (excuse{m.bit, f.Place}); !slices.Contains(ms.scene.excused, x) {
			ms.scene.excused = append(ms.scene.excused, x)
			ms.broken = append(ms.broken, Broken{Property: m.property, Finding: *f, Known: true})
		}
		return true
	}
	if ms.pass&m.bit == 0 {
		return false
	}
	ms.muted |= m.bit
	ms.broken = append(ms.broken, Broken{Property: m.property, Finding: *f})
	m.monitor.Reset()
	return true
}

func (ms *Monitors) found(m *member, f *traces.Finding) *traces.Finding {
	if ms.finder == nil {
		ms.finder = m.property
	}
	return f
}

// Finder returns the property of the run's first finding, or nil.
func (ms *Monitors) Finder() *Property { return ms.finder }
