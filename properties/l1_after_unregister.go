package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/traces"
)

// AfterUnregister is property L1: the half of rule 6.7 that lets a caller free its
// probe.
//
// Based on: the API calls against Handler, Missed, Skipped.
var AfterUnregister = Property{
	ID:   "L1",
	Name: "after-unregister",
	Says: "After unregister has returned none of the probe's handlers runs and none of its counters moves, until " +
		"it is registered again.",
	Kinds: []traces.Kind{
		kpev.ApiEnter, kpev.ApiReturn, kpev.Handler, kpev.Missed, kpev.Skipped, kpev.RetMissed,
	},
	Reads:   []traces.Kind{kpev.ApiEnter, kpev.ApiReturn},
	New:     func(s *Scene) Monitor { return &afterUnregister{s} },
	Touches: afterTouches,
}

type afterUnregister struct{ scene *Scene }

func (m *afterUnregister) Reset() {}

func (m *afterUnregister) Event(e *traces.Event) *traces.Finding {
	probes := &m.scene.probes
	i := probes.index(e.A)
	if i < 0 || probes.list[i].reg != regNo {
		return nil
	}
	does := "runs a handler of"
	switch e.Kind {
	case kpev.Missed, kpev.RetMissed:
		does = "counts a miss of"
	case kpev.Skipped:
		does = "counts a skip of"
	}
	return found(e, probes.list[i].addr, "%s probe %d, which isn't registered any more", does, e.A)
}

func (m *afterUnregister) End(bool) *traces.Finding { return nil }

// afterTouches: an object is a probe. Nothing is left for the end.
func afterTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case kpev.ApiEnter, kpev.ApiReturn:
		t.Write(e.B)
	default:
		t.Read(e.A)
	}
}
