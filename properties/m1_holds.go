package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// ModuleHolds is property M1: what may keep a module loaded. A probe holds its module while it is being registered,
// and in old kernels until it is unregistered. A hold that no probe accounts for was never dropped, and that module
// can't be unloaded any more. M1 also checks the answers of insmod and rmmod. While no such call for a module is
// under way, the number of calls that succeeded says whether it is loaded; a call that overlaps no other must answer
// accordingly.
//
// Based on: Denies (rmmod has found the module held) and Holds (the holds left at the end), against the API calls;
// Asked, the calls of insmod and rmmod against each other.
var ModuleHolds = Property{
	ID:   "M1",
	Name: "module-holds",
	Says: "rmmod is refused only while the module's load, a call of the API or, in some editions, a probe " +
		"registered in the module holds it; when all work is done nothing else does. The answers of insmod and " +
		"rmmod agree with whether the module is loaded.",
	Kinds: []traces.Kind{
		smpev.Module, smpev.Denies, smpev.Holds, smpev.Asked, kpev.Keeps, kpev.ApiEnter, kpev.ApiReturn,
	},
	Reads:   []traces.Kind{kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &moduleHolds{scene: s} },
	Touches: holdTouches,
}

type moduleHolds struct {
	scene    *Scene
	sections []span `state:"boot"` // what is the module's number
	keeps    bool   `state:"boot"` // probes hold their modules until they are unregistered
	held     int    // the number of a module that is held at the end for no probe's sake, and 1
	n, most  uint64 // how many hold it, and how many may
	presence []presence
}

// presence is the knowledge about a module, from the answers of insmod and rmmod.
type presence struct {
	module uint64
	there  int  // 1 if it is loaded, 0 if not, by the calls that have ended
	calls  int  // calls under way
	mixed  bool // one of them has overlapped another
}

// The answers that monitors know by their number.
const (
	moduleENOENT = 2
	moduleEAGAIN = 11
	moduleEEXIST = 17
	moduleENOSYS = 38
)

func (m *moduleHolds) Reset() {
	*m = moduleHolds{scene: m.scene, sections: m.sections[:0], presence: m.presence[:0]}
}

func (m *moduleHolds) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Keeps:
		m.keeps = e.A != 0
	case smpev.Module:
		m.sections = append(m.sections, span{e.A, e.B, e.C})
	case smpev.Asked:
		return m.answered(e)
	case smpev.Denies:
		if e.B == 0 && len(m.scene.probes.calls) == 0 && m.holders(e.A) == 0 {
			return found(e, m.at(e.A),
				"is refused to unload module %d, which nobody holds: no call of the API is under way",
				e.A)
		}
	case smpev.Holds:
		if most := m.holders(e.A); e.B > most && m.held == 0 {
			m.held, m.n, m.most = int(e.A)+1, e.B, most
		}
	}
	return nil
}

// answered judges the answers of insmod and rmmod. For a module that is loaded when the run
// begins there is only the end of a call.
func (m *moduleHolds) answered(e *traces.Event) *traces.Finding {
	i := slices.IndexFunc(m.presence, func(a presence) bool { return a.module == e.A })
	if i < 0 {
		i = len(m.presence)
		m.presence = append(m.presence, presence{module: e.A})
	}
	a := &m.presence[i]
	if e.B&smpev.AskedEnds == 0 {
		a.calls++
		a.mixed = a.mixed || a.calls > 1
		return nil
	}
	was, lone := a.there, !a.mixed
	a.calls = max(a.calls-1, 0)
	a.mixed = a.mixed && a.calls > 0
	insmod := e.B&^smpev.AskedEnds == smpev.AskedLoad
	does, is := "rmmod", "isn't loaded"
	if insmod {
		does = "insmod"
	}
	if was == 1 {
		is = "is loaded"
	}
	switch {
	case e.C == moduleENOSYS:
		return nil
	case e.C != 0:
	case insmod:
		a.there++
	default:
		a.there--
	}
	switch {
	case lone && !rightErrno(insmod, was == 1, e.C):
		return found(e, m.at(e.A), "answers %d to %s of module %d, which %s", e.C, does, e.A, is)
	case a.calls == 0 && a.there != 0 && a.there != 1:
		return found(e, m.at(e.A),
			"answers %d to %s of module %d: of insmod and rmmod more have succeeded than there was a module for", e.C,
			does, e.A)
	}
	return nil
}

// rightErrno reports whether an errno is right where no other call of the module overlaps: its
// init may fail, and a probe may hold it.
func rightErrno(insmod, there bool, errno uint64) bool {
	switch {
	case insmod:
		return (errno == moduleEEXIST) == there
	case there:
		return errno == 0 || errno == moduleEAGAIN
	}
	return errno == moduleENOENT
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

// holdTouches: a refusal is judged by the calls that are under way and the probes that are registered. An object is a
// probe, the state shared by all calls, or that of a module's insmod and rmmod.
func holdTouches(t *Touched, e *traces.Event) {
	const calls, asks = 1 << 43, 1 << 42
	switch e.Kind {
	case smpev.Asked:
		t.Write(asks | e.A)
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
		t.Write(calls)
	case smpev.Denies, smpev.Holds:
		t.Read(calls)
	}
}
