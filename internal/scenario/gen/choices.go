package gen

import (
	"pgregory.net/rapid"

	"kpsim/sim"
)

// Choices are what a scenario is drawn from: every question that a generator asks
// is one of these, so that whatever answers them draws the same scenarios.
type Choices interface {
	// N returns a number from 0 to n-1, n > 0.
	N(n int) int

	// One reports true once in n.
	One(n int) bool
}

// seeded answers from a stream of random numbers.
type seeded struct{ sim.Rand }

func newSeeded(seed uint64) *seeded {
	r := new(seeded)
	r.Seed(seed, 0)
	return r
}

// One implements Choices.
func (r *seeded) One(n int) bool { return r.N(n) == 0 }

// rapidly answers from rapid, which shrinks to small numbers and to what isn't there.
type rapidly struct{ t *rapid.T }

// N implements Choices.
func (r rapidly) N(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "number") }

// One implements Choices. Rapid draws the ends of a range more often than what is
// between them, and bits evenly: so the number is made of these.
func (r rapidly) One(n int) bool {
	const bits = 1 << 10
	return rapid.Uint64Range(0, bits-1).Draw(r.t, "one")%uint64(n) == uint64(n-1)
}
