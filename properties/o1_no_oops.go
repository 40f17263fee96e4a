package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoOops is property O1, the least that is required of a kernel.
//
// Based on: Oops.
var NoOops = Property{
	ID:    "O1",
	Name:  "no-oops",
	Says:  "The kernel doesn't die: every fault is handled.",
	Kinds: []traces.Kind{smpev.Oops},
	New:   func(*Scene) Monitor { return new(noOops) },
	Alone: true, // one event decides
}

type noOops struct{}

func (*noOops) Reset() {}

func (*noOops) Event(e *traces.Event) *traces.Finding {
	return found(e, e.B, "dies of %s at %#x, address %#x", smpev.Vector(e.A), e.B, e.C)
}

func (*noOops) End(bool) *traces.Finding { return nil }
