package properties

import (
	"kpsim/linux/linuxev"
	"kpsim/traces"
)

// NoWarning is property W1: a kernel's own checks of itself.
//
// Based on: Warn.
var NoWarning = Property{
	ID:    "W1",
	Name:  "no-warning",
	Says:  "No WARN of the kernel's own code is hit.",
	Kinds: []traces.Kind{linuxev.Warn},
	New:   func(*Scene) Monitor { return new(noWarning) },
	Alone: true,
}

type noWarning struct{}

func (*noWarning) Reset() {}

func (*noWarning) Event(e *traces.Event) *traces.Finding {
	return found(e, e.A, "warns at %#x", e.A)
}

func (*noWarning) End(bool) *traces.Finding { return nil }
