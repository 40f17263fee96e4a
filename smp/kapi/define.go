package kapi

import (
	"fmt"

	"kpsim/smp/arch"
)

// Work is what a kernel routine's Go code does, so that smp/cycles can price it.
type Work uint8

// The kinds that any routine may do. An engine defines more (DefineWork).
const (
	WorkNode       Work = 1  // look at a node of a hash chain
	WorkHandler    Work = 4  // run a handler
	WorkSave       Work = 6  // save or restore registers
	WorkCopy       Work = 7  // copy n bytes
	WorkLock       Work = 12 // a locked read-modify-write
	WorkUnlock     Work = 13 // a plain store after which others may take the lock
	WorkFlags      Work = 14 // save interrupts and turn them off, or restore them
	WorkMispredict Work = 15 // a return that its CPU hadn't predicted

	WorkKinds = 32 // numbers are below it
)

// workKinds are the kinds by number.
var workKinds = [WorkKinds]struct {
	name string
	cost int
}{
	WorkNode: {"node", 4}, WorkHandler: {"handler", 20}, WorkSave: {"save", 40}, WorkCopy: {"copy", 1},
	WorkLock: {"lock", 20}, WorkUnlock: {"unlock", 2}, WorkFlags: {"flags", 20}, WorkMispredict: {"mispredict", 15},
}

// DefineWork gives a kind of an engine's its name, and what one unit costs on the
// nominal processor, in cycles. It is for the initialisation of the engine's
// package, and panics if the number is taken.
func DefineWork(w Work, name string, cost int) {
	if k := &workKinds[w]; k.name != "" {
		panic(fmt.Sprintf("kapi: work %d can't be %q: it is %q", w, name, k.name))
	}
	workKinds[w].name, workKinds[w].cost = name, cost
}

// String returns the name of a kind of work, "" if there is none of that number.
func (w Work) String() string { return workKinds[w].name }

// Nominal returns what a unit of the work costs on the nominal processor, in cycles.
func (w Work) Nominal() int { return workKinds[w].cost }

// A Stub is a piece of the kernel's own text, with a symbol, which an engine fills
// in (Binder.Link). Offset and size are those of x86; kernels for processors with longer
// instructions have four times as much of both.
type Stub struct {
	Name   string
	Offset arch.Addr // in the kernel's room for stubs
	Size   int
}

// StubRoom is how many bytes of stubs there is room for on x86.
const StubRoom = 4096

var stubs []Stub

// DefineStub adds a stub. It is for the initialisation of an engine's package, and
// panics if it overlaps another one. Its place is kept in traces: it can't change.
func DefineStub(s Stub) {
	for _, o := range stubs {
		if s.Name == o.Name || s.Offset < o.Offset+arch.Addr(o.Size) && o.Offset < s.Offset+arch.Addr(s.Size) {
			panic(fmt.Sprintf("kapi: the stub %s has its name or its place in common with %s", s.Name, o.Name))
		}
	}
	if s.Offset+arch.Addr(s.Size) > StubRoom {
		panic(fmt.Sprintf("kapi: there is no room for the stub %s", s.Name))
	}
	stubs = append(stubs, s)
}

// Stubs returns those that engines have defined.
func Stubs() []Stub { return stubs }
