package properties

import "kpsim/traces"

// A Property is something that must hold in every run. It is data: an ID that
// is never reused, a name, a sentence that is printed wherever the property
// is, the kinds of event its monitor is told of, and how to make that monitor.
type Property struct {
	ID    string
	Name  string
	Says  string
	Kinds []traces.Kind
	New   func() Monitor
	_     struct{}
}

// A Monitor watches the events of one run after another. It sees events only,
// never the machine: its model of the truth is its own.
type Monitor interface {
	traces.Sink

	// Reset forgets the last run. It keeps its memory: no allocation.
	Reset()

	// End is called after the last event of a run that no finding ended.
	// drained says that everything came to its end: all programs ran out and
	// no work is left.
	End(drained bool) *traces.Finding
}
