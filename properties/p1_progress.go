package properties

import "kpsim/traces"

// Progress is judged by how a run ends, so that its monitor has nothing to
// watch: harness reports it.
var Progress = Property{
	ID:      "P1",
	Name:    "progress",
	Says:    "Every run ends: Stuck and Exhausted are reported, not passed.",
	New:     func(*Scene) Monitor { return new(progress) },
	Touches: nothingTouched,
}

type progress struct{}

func (*progress) Reset()                              {}
func (*progress) Event(*traces.Event) *traces.Finding { return nil }
func (*progress) End(bool) *traces.Finding            { return nil }
