package properties

import (
	"fmt"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoStall is property P5: a grace period ends in time. The scenario sets the limit (machine(stall = N)); without it
// the kernel reports nothing, and this property can't break.
//
// Based on: GPStall.
var NoStall = Property{
	ID:    "P5",
	Name:  "no-stall",
	Says:  "The kernel reports no grace period as stalled, if the scenario sets the time after which it does.",
	Kinds: []traces.Kind{smpev.GPStall},
	New:   func(*Scene) Monitor { return new(noStall) },
	Alone: true,
}

type noStall struct{}

func (*noStall) Reset() {}

func (*noStall) Event(e *traces.Event) *traces.Finding {
	task := func(n uint64) string { return fmt.Sprint(n) }
	return found(e, 0, "finds at a tick that a grace period doesn't end: %s", smpev.Stall(e.A, e.B, e.C, e.CPU, task))
}

func (*noStall) End(bool) *traces.Finding { return nil }
