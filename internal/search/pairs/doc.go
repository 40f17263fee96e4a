// Package pairs knows the pairs of an operation and a state that its object can be in, and which
// of them runs reach. The pairs are coverage: fuzz keeps a program that reaches a new one.
//
// A pair is reached when a task begins the operation while the object is in the state. An object
// is in several states at once: a probe is disabled, joined by another one, and in a module that
// is about to go. The pairs are the product of the rows of package act, whose Object says what an
// operation is about, and the states of each sort of object (states.go), without those that are
// excused, with a reason (excused.go).
//
// What it is not: it draws no program and judges no run.
//
// Its rule: states are read, never guessed. They come from the events of the run (scene.go), from
// what the engine and the kernel show without a point, and from which operations of other tasks
// are under way. Watching emits no event, so a watched run is the same run.
//
// Its limits: operations in steps of handlers aren't watched, nor those that set up before a run.
// What an engine holds of a point is known as of the last release of kprobe_mutex. A probe's states of
// the optimizer are those of the point at its address, also if the probe isn't registered there.
package pairs
