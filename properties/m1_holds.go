package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ModuleHolds is property M1: who may keep a module. A probe holds its module while it is
// being registered, and in old kernels until it is unregistered. What no probe accounts
// for is a hold that was never dropped: such a module can't be unloaded any more.
//
// Based on: Denies, where rmmod has found the module held, and Holds, what is left at the
// end, against the API calls.
var ModuleHolds = Property{
	ID:   "M1",
	Name: "module-holds",
	Says: "rmmod is refused only while the module's load, or a call of the API, or in editions that have it a probe that is registered in the module, holds it; when all work is done nobody else does.",
	Kinds: []traces.Kind{
		smpev.Module, smpev.Denies, smpev.Holds, kpev.Keeps, kpev.ApiEnter, kpev.ApiReturn,
	},
	Reads:   []traces.Kind{kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &moduleHolds{scene: s} },
	Touches: holdTouches,
}

type moduleHolds struct {
	scene    *Scene
	sections []span `state:"boot"` // what is the number of the module
	keeps    bool   `state:"boot"` // probes hold their modules until they are unregistered
	held     int    // the number of a module that is held at the end for no probe's sake, and 1
	n, most  uint64 // how many hold it, and how many may
}

func (m *moduleHolds) Reset() { *m = moduleHolds{scene: m.scene, sections: m.sections[:0]} }

func (m *moduleHolds) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Keeps:
		m.keeps = e.A != 0
	case smpev.Module:
		m.sections = append(m.sections, span{e.A, e.B, e.C})
	case smpev.Denies:
		if e.B == 0 && len(m.scene.probes.calls) == 0 && m.holders(e.A) == 0 {
			return found(e, m.at(e.A), "is refused to unload module %d, which nobody holds: no call of the API is under way", e.A)
		}
	case smpev.Holds:
		if most := m.holders(e.A); e.B > most && m.held == 0 {
			m.held, m.n, m.most = int(e.A)+1, e.B, most
		}
	}
	return nil
}

// holders returns how many probes may hold a module for as long as they are registered.
func (m *moduleHolds) holders(module uint64) (n uint64) {
	if !m.keeps {
		return 0
	}
	for i := range m.scene.probes.list {
		p := &m.scene.probes.list[i]
		if s := in(m.sections, p.addr); s != nil && s.what == module && p.reg != regNo {
			n++
		}
	}
	return n
}

// at returns the address of a module's text.
func (m *moduleHolds) at(module uint64) uint64 {
	for i := range m.sections {
		if m.sections[i].what == module {
			return m.sections[i].addr
		}
	}
	return 0
}

func (m *moduleHolds) End(drained bool) *traces.Finding {
	if !drained || m.held == 0 || len(m.scene.probes.calls) > 0 {
		return nil
	}
	module := uint64(m.held - 1)
	return atEnd(m.at(module), "module %d is held %d times, and %d probes in it may hold it", module, m.n, m.most)
}

// holdTouches: a refusal is judged by the calls that are under way and the probes that are
// registered. An object is a probe, or what all calls have in common.
func holdTouches(t *Touched, e *traces.Event) {
	const calls = 1 << 43
	switch e.Kind {
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
		t.Write(calls)
	case smpev.Denies, smpev.Holds:
		t.Read(calls)
	}
}
