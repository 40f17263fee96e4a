package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A BugError is a fault of the simulator itself, never of the engine under test. Bug
// panics with it; such a run is never shrunk and never counted.
type BugError struct {
	Message string
	Stack   []byte // as runtime/debug prints it; nil if Bug didn't make it
}

func (b *BugError) Error() string { return "bug of the simulator: " + b.Message }

// Bug panics with a BugError.
func Bug(format string, args ...any) {
	panic(&BugError{fmt.Sprintf(format, args...), debug.Stack()})
}

// A Panic is a panic of Go's runtime in a body on a fibre. It carries the stack,
// because the caller that recovers it runs on another one.
type Panic struct {
	Err   runtime.Error
	Stack []byte // as runtime/debug prints it
}

func (p *Panic) Error() string { return p.Err.Error() }

// Unwrap implements the method that errors.As calls.
func (p *Panic) Unwrap() error { return p.Err }
