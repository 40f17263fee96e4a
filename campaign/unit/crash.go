package unit

import (
	"runtime/debug"

	"kpsim/sim"
)

// stackOf returns where a panic happened, which for some isn't where it is caught.
func stackOf(v any) []byte {
	switch b := v.(type) {
	case *sim.BugError:
		return []byte(b.Stack)
	case *sim.Panic:
		return []byte(b.Stack)
	}
	return debug.Stack()
}
