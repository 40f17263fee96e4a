package properties

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// OneUniverse is property U1: the consistency model of live patches. In a call chain with an
// old and a new version one would be handed data as the other one has them.
//
// A return address is what looks like one: a word of the task's stack that lies in a function,
// and isn't its first byte. One that a return probe has replaced isn't seen. The stack is
// searched where the call is made, by package livepatch, and not here.
//
// Based on: LiveCall, which tells where a call goes on, and what lies on the stack then.
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
