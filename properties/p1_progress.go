package properties

import "kpsim/traces"

// Progress is property P1: a run comes to its end. The rig judges it by how the run
// ended; its monitor gets no event.
//
// Based on: nothing: the rig judges it by how the run ended.
var Progress = Property{
	ID:    "P1",
	Name:  "progress",
	Says:  "Every run ends: Stuck and Exhausted are reported, not passed.",
	New:   func(*Scene) Monitor { return new(progress) },
	Alone: true,
}

type progress struct{}

func (*progress) Reset()                              {}
func (*progress) Event(*traces.Event) *traces.Finding { return nil }
func (*progress) End(bool) *traces.Finding            { return nil }
