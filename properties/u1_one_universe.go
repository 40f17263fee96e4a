package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OneUniverse is property U1: the consistency model of live patches. If one call chain has an old and a new version,
// one gets data in the other's form.
//
// A return address is a word of the task's stack that lies in a function, and isn't its first byte. One that a return
// probe has replaced isn't seen. Package livepatch searches the stack when the call is made, not this one.
//
// Based on: LiveCall, with the address where a call continues, and the stack's contents then.
var OneUniverse = Property{
	ID:    "U1",
	Name:  "one-universe",
	Says:  "No call chain has both an old and a new version of functions that are patched live together.",
	Kinds: []traces.Kind{smpev.LiveCall},
	New:   func(*Scene) Monitor { return new(oneUniverse) },
	Alone: true,
}

type oneUniverse struct{}

func (*oneUniverse) Reset() {}

func (*oneUniverse) Event(e *traces.Event) *traces.Finding {
	if e.C == 0 {
		return nil
	}
	return found(e, e.A,
		"calls %#x, which goes on at %#x, and will return to %#x, which is of another version of its live patch",
		e.A, e.B, e.C)
}

func (*oneUniverse) End(bool) *traces.Finding { return nil }
