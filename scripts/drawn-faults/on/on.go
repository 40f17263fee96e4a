// Package on guards drawn faults: calls of it are written into copies of sources, with a number per fault, and the
// environment says which number is chosen. With none chosen each function here returns the original value.
//
// It records, in a file, whether the chosen fault was reached, and whether it changed a value. Where comparing the
// values would evaluate code that the program doesn't, reached counts as changed.
package on

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

// The environment variables: the number of the chosen fault, or None, and the file that records how far it came.
// Under None the number of each fault that is reached is written to the file, one a line. Without the variables
// nothing is written.
const (
	Chosen = "KPSIM_DRAWN_FAULT"
	Note   = "KPSIM_DRAWN_NOTE"
	None   = "none"
)

// The last word of the file.
const (
	Reached = "reached"
	Changed = "changed"
)

var (
	chosen = number(os.Getenv(Chosen))
	note   = os.Getenv(Note)
	said   atomic.Int32 // 1 when Reached was written, 2 when Changed was
	all    = os.Getenv(Chosen) == None
	noted  [Most]atomic.Bool // under None: the fault's number was written
)

// Most bounds the numbers of faults.
const Most = 1 << 12

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// is reports whether fault n is chosen, and records that it was reached.
func is(n int) bool {
	if n == chosen {
		say(1, Reached)
		return true
	}
	if all && !noted[n].Load() {
		tell(n)
	}
	return false
}

// tell records that fault n was reached although it isn't chosen.
func tell(n int) {
	if noted[n].Swap(true) {
		return
	}
	f, err := os.OpenFile(note, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(n) + "\n")
	}
	if err != nil {
		panic(err) // the measurement would be wrong
	}
	f.Close()
}

// say records a step the first time, at once: the process may be killed at any time.
func say(step int32, word string) {
	for {
		old := said.Load()
		if old >= step {
			return
		}
		if said.CompareAndSwap(old, step) {
			break
		}
	}
	if err := os.WriteFile(note, []byte(word), 0o644); err != nil {
		panic(err) // the measurement would be wrong
	}
}

// pick returns now instead of was, and records whether they differ.
func pick[T comparable](was, now T) T {
	if was != now {
		say(2, Changed)
	}
	return now
}

// N reports whether fault n is chosen: a statement is left out, or one is added.
func N(n int) bool { return is(n) && pick(false, true) }

// Not is was, negated by fault n.
func Not(n int, was bool) bool { return was != N(n) }

// Less is a < b; with fault n a <= b.
func Less[T cmp.Ordered](n int, a, b T) bool {
	if is(n) {
		return pick(a < b, a <= b)
	}
	return a < b
}

// AtMost is a <= b; with fault n a < b.
func AtMost[T cmp.Ordered](n int, a, b T) bool {
	if is(n) {
		return pick(a <= b, a < b)
	}
	return a <= b
}

// More is a > b; with fault n a >= b.
func More[T cmp.Ordered](n int, a, b T) bool { return Less(n, b, a) }

// AtLeast is a >= b; with fault n a > b.
func AtLeast[T cmp.Ordered](n int, a, b T) bool { return AtMost(n, b, a) }

// How a conjunction or disjunction is changed.
const (
	Swap  = iota // into the other one
	Left         // into its left side
	Right        // into its right side
)

// And is a && b(), changed by fault n.
func And(n, how int, a bool, b func() bool) bool {
	switch {
	case !is(n):
		return a && b()
	case how == Right && a:
		return b()
	case how != Left && !a:
		return pick(false, b())
	case a:
		say(2, Changed) // b isn't evaluated
	}
	return a
}

// Or is a || b(), changed by fault n.
func Or(n, how int, a bool, b func() bool) bool {
	switch {
	case !is(n):
		return a || b()
	case how == Right && !a:
		return b()
	case how != Left && a:
		return pick(true, b())
	case !a:
		say(2, Changed) // b isn't evaluated
	}
	return a
}

// Add is v, or v + by with fault n.
func Add[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](n int, v,
	by T) T {
	if N(n) {
		return v + by
	}
	return v
}

// Other is v, or other with fault n.
func Other[T any](n int, v, other T) T {
	if N(n) {
		return other
	}
	return v
}
