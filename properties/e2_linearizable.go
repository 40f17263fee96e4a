package properties

// Linearizable is property E2: what the engine's one lock promises where calls overlap,
// so that Answers can't judge. The rig judges it after a run with a checker for
// linearizability (Linear); its monitor gets no event. It is judged where two tasks
// call the API for one probe, or write one switch. Proofs claim nothing about it.
//
// Based on: nothing: the rig judges it by the API calls and the switches, after the
// run.
var Linearizable = Property{
	ID:   "E2",
	Name: "linearizable",
	Says: "There is an order of all calls of the API and writes of the switches, each between its beginning and " +
		"its return, in which a sequential kprobes gives the same answers and ends in the same state.",
	New:   func(*Scene) Monitor { return new(progress) },
	Alone: true,
}
