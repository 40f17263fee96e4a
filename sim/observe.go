package sim

// An Object is something that the steps of two movers may both touch: a shared
// cell, eight bytes of text or data, the interrupts pending on a CPU. 0 is
// none. Objects are numbered alike in all runs of one machine.
type Object uint64

// A Touch is one thing a step did that another mover's step may depend on, or
// may be depended on by. Two steps of different movers conflict if both touch
// an object and one of them writes it; steps that don't conflict commute.
type Touch struct {
	Object Object
	Write  bool
}

// An Observer is told of each step of a run when it is done: who made it, and
// what it touched. A step that touched nothing is private to its mover.
// touched is reused for the next step.
type Observer interface {
	Stepped(mv Mover, touched []Touch)
}

// A Planner is an Observer that decides by what the next steps begin with
// touching: Point.Ahead.
type Planner interface {
	Observer
	Plans()
}

// A Forced is a Chooser that is told of what the machine answers itself: a Step
// question that isn't asked, for no other mover is to come in there, and whose
// answer isn't 0. Who writes a run down is told, so that it can be made again on a
// machine that asks.
type Forced interface {
	Forced(p *Point, pick int)
}
