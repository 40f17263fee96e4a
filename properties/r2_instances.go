package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Instances is property R2: the memory of return probes is neither lost nor used twice.
//
// Based on: the engine's events about its instances, against each other. For misses these
// are Seeks and Lies, which a kernel's own engine doesn't emit.
var Instances = Property{
	ID:   "R2",
	Name: "instances",
	Says: "An instance of a return probe belongs to one call at a time, is returned once, and is then in no list " +
		"of calls; a return probe has as many as it asks for; a call is missed only if none was free; each is " +
		"freed when no call has it, and when all work is done a return probe that is gone has no instance and no " +
		"holder left.",
	Kinds: []traces.Kind{
		smpev.Trap, smpev.Return, kpev.ApiEnter, kpev.ApiReturn, kpev.InstanceNew, kpev.InstanceGet, kpev.InstancePut,
		kpev.InstanceFree, kpev.HolderDrop, kpev.HolderFree,
		kpev.Wants, kpev.Seeks, kpev.Lies, kpev.Stays, kpev.RetMissed,
	},
	Reads:   []traces.Kind{smpev.Trap, smpev.Return, kpev.ApiEnter},
	New:     func(s *Scene) Monitor { return &instances{scene: s} },
	Touches: instanceTouches,
}

type instances struct {
	scene   *Scene
	list    []instance
	holders []holder // those seen so far
	seeking []seeker // calls that look for a free instance
	asked   []asked  `state:"boot"`
}

// asked is how many calls a return probe asks to follow at a time.
type asked struct{ probe, n uint64 }

type instance struct {
	id, probe, holder uint64
	is                uint8
	free              bool // a call can find it
	own               bool // free, where memory is weak: on the CPU by; others may not see that yet
	by                uint8
}

// The states of an instance.
const (
	isFree uint8 = iota
	isTaken
	isGone
)

type holder struct {
	id, probe uint64
	gone      bool
	counts    bool // its references are counted: the last one frees it
}

// A seeker is a call that looks for a free instance. It may find none although one is free all the time: another call
// may return one to a place that the seeker has passed, while a third takes one from a place that it hasn't reached.
// So the claim is weaker: the miss is wrong if instances were free when it began, no other was on its way back, and
// not all were taken meanwhile.
type seeker struct {
	task, depth uint8
	probe       uint64
	moves       uint32 // of the probe's registration, when it began
	excused     bool   // an instance was, or is, on its way back, or the registration changes
}

func (m *instances) Reset() {
	m.list, m.holders, m.seeking, m.asked = m.list[:0], m.holders[:0], m.seeking[:0], m.asked[:0]
}

func (m *instances) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.InstanceNew:
		if i := m.find(e.A); i != nil && i.is != isGone {
			return found(e, 0, "allocates instance %d, which there is", e.A)
		}
		m.list = append(m.list, instance{id: e.A, probe: e.B, holder: e.C, is: isFree, free: true})
		if m.holder(e.C) == nil {
			m.holders = append(m.holders, holder{id: e.C, probe: e.B})
		}
	case kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree:
		return m.moves(e)
	case kpev.ApiReturn:
		return m.registered(e)
	case kpev.Seeks:
		m.seeks(e)
	case kpev.Lies:
		if i := m.find(e.A); i != nil {
			i.free, i.own, i.by = e.C != 0, e.C == 2, e.CPU
		}
	case kpev.Wants:
		m.asked = append(m.asked, asked{e.A, e.B})
	case kpev.Stays:
		return found(e, 0, "gives back instance %d of probe %d, which is still among the calls in flight of task%d",
			e.A, e.B, e.C)
	case kpev.RetMissed:
		return m.misses(e)
	case kpev.HolderDrop:
		h := m.holder(e.A)
		if h != nil && h.gone {
			return found(e, 0, "drops %d references to return probe memory %d, which is freed", e.B, e.A)
		}
		if h != nil {
			h.counts = true
		}
	case kpev.HolderFree:
		h := m.holder(e.A)
		if h == nil {
			return nil
		}
		if h.gone {
			return found(e, 0, "frees return probe memory %d twice", e.A)
		}
		h.gone = true
	}
	return nil
}

// moves hands an instance from one holder to another.
func (m *instances) moves(e *traces.Event) *traces.Finding {
	i := m.find(e.A)
	var does string
	var from, to uint8
	switch e.Kind {
	case kpev.InstanceGet:
		does, from, to = "takes", isFree, isTaken
	case kpev.InstancePut:
		does, from, to = "gives back", isTaken, isFree
	default:
		does, from, to = "frees", isFree, isGone
	}
	m.sought(e)
	switch {
	case e.Kind == kpev.InstanceGet && e.C == 1:
		return found(e, 0, "looks at instance %d of probe %d, which is freed", e.A, e.B)
	case i == nil:
		return found(e, 0, "%s instance %d of probe %d, which was never allocated", does, e.A, e.B)
	case i.is == from:
		i.is = to
		i.free = i.free && to == isFree
		return nil
	case i.is == isTaken:
		return found(e, 0, "%s instance %d of probe %d, which a call has", does, e.A, e.B)
	case i.is == isGone:
		return found(e, 0, "%s instance %d of probe %d, which is freed", does, e.A, e.B)
	}
	return found(e, 0, "%s instance %d of probe %d, which no call has", does, e.A, e.B)
}

// seeks begins to follow a call that looks for an instance.
func (m *instances) seeks(e *traces.Event) {
	s := seeker{task: e.Task, depth: m.depth(e.Task), probe: e.A, excused: true}
	if k := m.scene.probes.index(e.A); k >= 0 {
		p := &m.scene.probes.list[k]
		s.moves, s.excused = p.moves, p.reg != regYes
	}
	for k := range m.list {
		i := &m.list[k]
		s.excused = s.excused || i.probe == e.A && i.is == isFree && (!i.free || i.own && i.by != e.CPU)
	}
	m.seeking = append(m.seeking, s)
}

// sought records that an instance was taken, or is on its way back.
func (m *instances) sought(e *traces.Event) {
	switch e.Kind {
	case kpev.InstanceGet:
		m.ends(e.Task, e.B)
	case kpev.InstancePut:
		for k := range m.seeking {
			if s := &m.seeking[k]; s.probe == e.B {
				s.excused = true
			}
		}
	}
}

// ends returns the newest call of a task that looks for an instance of a probe, and forgets it, together with those
// that were under way when their task ended.
func (m *instances) ends(task uint8, probe uint64) (s seeker, ok bool) {
	for k := len(m.seeking) - 1; k >= 0; k-- {
		if s = m.seeking[k]; s.task == task && s.probe == probe {
			m.seeking = append(m.seeking[:k], m.seeking[k+1:]...)
			return s, s.depth == m.depth(task)
		}
	}
	return s, false
}

// depth returns how many traps are open on a task: a seeker of less was interrupted.
func (m *instances) depth(task uint8) uint8 { return uint8(len(*m.scene.frames.of(task))) }

// misses judges a call that has found no free instance.
func (m *instances) misses(e *traces.Event) *traces.Finding {
	s, ok := m.ends(e.Task, e.A)
	k := m.scene.probes.index(e.A)
	if !ok || s.excused || k < 0 || m.scene.probes.list[k].moves != s.moves {
		return nil
	}
	for k := range m.list {
		if i := &m.list[k]; i.probe == e.A && i.free {
			return found(e, 0, "finds no instance of return probe %d, and counts a miss, though instance %d is free",
				e.A, i.id)
		}
	}
	return nil
}

// registered judges a return probe that has just been registered: it has as many instances as it asked for.
func (m *instances) registered(e *traces.Event) *traces.Finding {
	k := slices.IndexFunc(m.asked, func(a asked) bool { return a.probe == e.B })
	if c := &m.scene.probes.last; k < 0 || e.A != kpev.Register || e.C != 0 || m.scene.called.place < 0 || !c.lone {
		return nil
	}
	var has, holder uint64
	for k := range m.list {
		if i := &m.list[k]; i.probe == e.B {
			if holder != i.holder { // from the last registration
				has, holder = 0, i.holder
			}
			has++
		}
	}
	if wants := m.asked[k].n; has != wants {
		return found(e, 0, "registers return probe %d, which follows %d calls at a time, and asks for %d", e.B, has,
			wants)
	}
	return nil
}

func (m *instances) End(drained bool) *traces.Finding {
	for k := range m.list {
		i := &m.list[k]
		if !drained || i.is == isGone {
			continue
		}
		if p := m.scene.probes.index(i.probe); p >= 0 && m.scene.probes.list[p].reg == regNo {
			return atEnd(m.scene.probes.list[p].addr,
				"instance %d is left behind, though probe %d isn't registered any more",
				i.id, i.probe)
		}
	}
	for k := range m.holders {
		h := &m.holders[k]
		if drained && h.counts && !h.gone && m.gone(h.probe) && !m.belong(h.id) {
			return atEnd(0, "return probe memory %d is left behind, though probe %d isn't registered any more, "+
				"and all instances are freed", h.id, h.probe)
		}
	}
	return nil
}

// gone reports whether a probe is certainly not registered.
func (m *instances) gone(probe uint64) bool {
	p := m.scene.probes.index(probe)
	return p >= 0 && m.scene.probes.list[p].reg == regNo
}

// belong reports whether an instance of a holder isn't freed.
func (m *instances) belong(holder uint64) bool {
	for k := range m.list {
		if i := &m.list[k]; i.holder == holder && i.is != isGone {
			return true
		}
	}
	return false
}

// find returns the newest instance with a number.
func (m *instances) find(id uint64) *instance {
	for k := len(m.list) - 1; k >= 0; k-- {
		if m.list[k].id == id {
			return &m.list[k]
		}
	}
	return nil
}

func (m *instances) holder(id uint64) *holder {
	for k := range m.holders {
		if m.holders[k].id == id {
			return &m.holders[k]
		}
	}
	return nil
}

// instanceTouches: an object is an instance, or an instance's owner, or a probe: a miss is judged by where its
// instances are. At the end the state of each counts, and which calls have returned, in any order.
func instanceTouches(t *Touched, e *traces.Event) {
	const holders = 1 << 40
	switch e.Kind {
	case kpev.InstanceNew:
		t.Write(e.A)
		t.Write(holders | e.C)
	case kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree, kpev.Lies:
		t.Write(e.A)
		t.Write(2*holders | e.B)
	case kpev.Seeks, kpev.RetMissed:
		t.Write(2*holders | e.A)
	case kpev.HolderDrop, kpev.HolderFree:
		t.Write(holders | e.A)
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(2*holders | e.B)
	}
}
