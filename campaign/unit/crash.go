package unit

import (
	"runtime/debug"

	"kpsim/sim"
)

// stackOf returns the stack where a panic happened; for some panics that isn't where they are caught.
func stackOf(v any) []byte {
	switch b := v.(type) {
	case *sim.BugError:
		return []byte(b.Stack)
	case *sim.Panic:
		return []byte(b.Stack)
	}
	return debug.Stack()
}
