package sim

// An Object is something that steps of two movers may both touch: a shared cell, eight
// bytes of text or data, the interrupts pending on a CPU. 0 is none. An object has the
// same number in all runs of one machine.
type Object uint64

// A Touch is one access of a step that a step of another mover may depend on, or the
// reverse. Two steps of different movers conflict if both touch an object and one of
// them writes it; steps that don't conflict commute.
type Touch struct {
	Object Object
	Write  bool
}

// An Observer is called after each step of a run with its mover and what it touched. A
// step that touched nothing is private to its mover. touched is reused for the next
// step.
type Observer interface {
	Stepped(mv Mover, touched []Touch)
}

// A Planner is an Observer that decides by the first touches of the next steps:
// Point.Ahead.
type Planner interface {
	Observer
	Plans()
}

// A Forced is a Chooser that also gets the Step questions that the machine answers
// itself because no other mover may come in, if the answer isn't 0. A recorder needs
// them to repeat the run on a machine that asks them.
type Forced interface {
	Forced(p *Point, pick int)
}
