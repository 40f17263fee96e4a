package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Monitors are the monitors of some properties, who watch one run after another
// over one Scene. They are a sink for all kinds that their properties rest on.
type Monitors struct {
	scene  Scene
	list   []member
	told   [][]member // by kind: who is told of it
	kinds  []traces.Kind
	finder *Property
	awake  bool // they are told of dull events, too

	pass   Set      // properties after whose finding a run goes on
	muted  Set      // those of them that were broken in this run
	broken []Broken // what they found, in its order
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
	Ignored  bool // by the user: the run is none that breaks something because of it
}

// NewMonitors makes the monitors of the properties. If several find fault with
// one event the first of list has the finding.
func NewMonitors(list ...*Property) *Monitors {
	ms := &Monitors{list: make([]member, len(list))}
	for i, p := range list {
		ms.list[i] = member{p, p.New(&ms.scene), SetOf(p)}
		for _, k := range p.Kinds {
			for int(k) >= len(ms.told) {
				ms.told = append(ms.told, nil)
			}
			if !slices.Contains(ms.kinds, k) {
				ms.kinds = append(ms.kinds, k)
			}
			if !p.reads(k) {
				ms.told[k] = append(ms.told[k], ms.list[i])
			}
		}
	}
	return ms
}

// Kinds returns the kinds that they are to be told of, each once.
func (ms *Monitors) Kinds() []traces.Kind { return ms.kinds }

// State returns pointers to all that they and their scene remember of a run.
func (ms *Monitors) State() []any {
	list := []any{&ms.scene}
	for i := range ms.list {
		list = append(list, ms.list[i].monitor)
	}
	return append(list, &ms.muted)
}

// Pass makes runs go on after properties of the set were broken. A monitor that has found
// something is told of nothing any more until the next run: it counts once a run, and what
// it remembers can't mislead it. The other monitors go on as if nothing had happened. What
// they find then may be a consequence: after T1, T2, B1, S1 or O1 a CPU may run garbage.
func (ms *Monitors) Pass(set Set) { ms.pass = set }

// Passed returns what the run has broken of those, in the order in which it was found. It
// is good until Reset.
func (ms *Monitors) Passed() []Broken { return ms.broken }

// KeepAwake has them told of dull events, too: nothing comes of it but work.
func (ms *Monitors) KeepAwake() { ms.awake = true }

// Reset forgets the last run. It keeps its memory: no allocation.
func (ms *Monitors) Reset() {
	ms.finder, ms.muted, ms.broken = nil, 0, ms.broken[:0]
	ms.scene.reset()
	for i := range ms.list {
		ms.list[i].monitor.Reset()
	}
}

// SameText says, right after Reset, that the run has the text of the last one, and
// that they won't be told of its Loads.
func (ms *Monitors) SameText() { ms.scene.text.again() }

// Event implements traces.Sink.
func (ms *Monitors) Event(e *traces.Event) *traces.Finding {
	if (e.Kind == smpev.Exec && ms.scene.wasDull(e) || ms.scene.take(e)) && !ms.awake {
		return nil
	}
	told := ms.told[e.Kind]
	for i := range told {
		m := &told[i]
		if ms.muted&m.bit != 0 {
			continue
		}
		if f := m.monitor.Event(e); f != nil && !ms.passed(m, f) {
			return ms.found(m, f)
		}
	}
	return nil
}

// End is called after the last event of a run that no finding ended, see Monitor.
func (ms *Monitors) End(drained bool) *traces.Finding {
	for i := range ms.list {
		m := &ms.list[i]
		if ms.muted&m.bit != 0 {
			continue
		}
		if f := m.monitor.End(drained); f != nil && !ms.passed(m, f) {
			return ms.found(m, f)
		}
	}
	return nil
}

// passed reports whether the run goes on after a finding, and mutes the monitor if so.
func (ms *Monitors) passed(m *member, f *traces.Finding) bool {
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

// Finder returns the property that the first finding of the run is about, nil
// if there is none.
func (ms *Monitors) Finder() *Property { return ms.finder }
