package gentest

import (
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
)

// DrawAny is gen.Generate driven by rapid, which shrinks the scenario.
func DrawAny(t *rapid.T) *scenario.Scenario { return gen.Generate(choices{t}) }

// DrawAnyOn is DrawAny on a given machine, with its settings and CPUs, for both engines.
func DrawAnyOn(t *rapid.T, m scenario.Machine) *scenario.Scenario {
	return gen.GenerateOn(choices{t}, m)
}

// choices answers the generator's questions from rapid, which shrinks towards small numbers and
// the absence of rare parts.
type choices struct{ t *rapid.T }

// N implements gen.Choices.
func (c choices) N(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "number") }

// One implements gen.Choices. Rapid draws the ends of a range more often than the middle, but
// bits evenly, so the number is composed of bits.
func (c choices) One(n int) bool {
	const bits = 1 << 10
	return rapid.Uint64Range(0, bits-1).Draw(c.t, "one")%uint64(n) == uint64(n-1)
}

// Part implements gen.Choices.
func (choices) Part(string) {}
