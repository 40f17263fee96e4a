package sim

import "fmt"

// A BugError is a fault of the simulator itself, never of the engine under
// test: it is panicked, never shrunk, never counted.
type BugError struct{ Message string }

func (b *BugError) Error() string { return "bug of the simulator: " + b.Message }

// Bug panics with a BugError.
func Bug(format string, args ...any) {
	panic(&BugError{fmt.Sprintf(format, args...)})
}
