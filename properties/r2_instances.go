package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// Instances is property R2: the memory of return probes is neither lost nor used twice.
//
// Based on: the engine's events about its instances, against each other.
var Instances = Property{
	ID:   "R2",
	Name: "instances",
	Says: "An instance of a return probe is one call's at a time, goes back once, and is freed when no call has it; when all work is done none is left of a return probe that is gone.",
	Kinds: []traces.Kind{
		kpev.ApiEnter, kpev.ApiReturn, kpev.InstanceNew, kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree, kpev.HolderDrop, kpev.HolderFree,
	},
	Reads:   []traces.Kind{kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &instances{scene: s} },
	Touches: instanceTouches,
}

type instances struct {
	scene   *Scene
	list    []instance
	holders []holder // those seen so far
}

type instance struct {
	id, probe uint64
	is        uint8
}

// The states of an instance.
const (
	isFree uint8 = iota
	isTaken
	isGone
)

type holder struct {
	id   uint64
	gone bool
}

func (m *instances) Reset() { m.list, m.holders = m.list[:0], m.holders[:0] }

func (m *instances) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.InstanceNew:
		if i := m.find(e.A); i != nil && i.is != isGone {
			return found(e, 0, "allocates instance %d, which there is", e.A)
		}
		m.list = append(m.list, instance{e.A, e.B, isFree})
		if m.holder(e.C) == nil {
			m.holders = append(m.holders, holder{id: e.C})
		}
	case kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree:
		return m.moves(e)
	case kpev.HolderDrop:
		if h := m.holder(e.A); h != nil && h.gone {
			return found(e, 0, "drops %d references to return probe memory %d, which is freed", e.B, e.A)
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
	switch {
	case e.Kind == kpev.InstanceGet && e.C == 1:
		return found(e, 0, "looks at instance %d of probe %d, which is freed", e.A, e.B)
	case i == nil:
		return found(e, 0, "%s instance %d of probe %d, which was never allocated", does, e.A, e.B)
	case i.is == from:
		i.is = to
		return nil
	case i.is == isTaken:
		return found(e, 0, "%s instance %d of probe %d, which a call has", does, e.A, e.B)
	case i.is == isGone:
		return found(e, 0, "%s instance %d of probe %d, which is freed", does, e.A, e.B)
	}
	return found(e, 0, "%s instance %d of probe %d, which no call has", does, e.A, e.B)
}

func (m *instances) End(drained bool) *traces.Finding {
	for k := range m.list {
		i := &m.list[k]
		if !drained || i.is == isGone {
			continue
		}
		if p := m.scene.probes.index(i.probe); p >= 0 && m.scene.probes.list[p].reg == regNo {
			return atEnd(m.scene.probes.list[p].addr, "instance %d is left behind, though probe %d isn't registered any more", i.id, i.probe)
		}
	}
	return nil
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

// instanceTouches: an object is an instance, or what instances belong to. At the end
// the state of each counts, and which calls have returned, in any order.
func instanceTouches(t *Touched, e *traces.Event) {
	const holders = 1 << 40
	switch e.Kind {
	case kpev.InstanceNew:
		t.Write(e.A)
		t.Write(holders | e.C)
	case kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree:
		t.Write(e.A)
	case kpev.HolderDrop, kpev.HolderFree:
		t.Write(holders | e.A)
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(2*holders | e.B)
	}
}
