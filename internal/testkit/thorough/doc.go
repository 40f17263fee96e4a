// Package thorough says how much tests do: by default what .ci/run has time for (go test
// ./... takes some eight minutes on two cores, most of a minute of it linking), with
// KPSIM_THOROUGH=1 all.
//
// What it is not: it is no other set of tests. What is tested less by default is tested
// with fewer cases; a test that is left out says so, and what it would have cost.
//
// Its rule: imported by tests alone.
package thorough

import (
	"os"
	"testing"
)

// Set reports whether tests are to do all that they can.
func Set() bool { return os.Getenv("KPSIM_THOROUGH") != "" }

// Of returns how much a test does: few by default, all if Set.
func Of[T any](few, all T) T {
	if Set() {
		return all
	}
	return few
}

// Only leaves a test out unless Set. why says what it takes, or which other test has
// most of it.
func Only(t testing.TB, why string) {
	t.Helper()
	if !Set() {
		t.Skipf("%s: KPSIM_THOROUGH=1 runs it", why)
	}
}
