package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestMover: Mover returns First, then each other mover of the sets once, in numerical
// order, for small machines, which use a table, and for large ones.
func TestMover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SampledFrom([]int{1, 2, 4, 8, 9, 33, MaxCPUs}).Draw(t, "cpus")
		p := Point{Kind: Step}
		var all []Mover
		for _, w := range []int{0, 1, 3, 2} { // in this order they are alternatives
			p.Moves[w] = rapid.Uint64().Draw(t, "moves") & (1<<cpus - 1)
			for i := range Mover(MaxCPUs) {
				if p.Moves[w]>>i&1 != 0 {
					all = append(all, Mover(w*MaxCPUs)+i)
				}
			}
		}
		if len(all) == 0 {
			t.Skip("nothing can move")
		}
		p.N, p.First = len(all), rapid.SampledFrom(all).Draw(t, "first")
		want := []Mover{p.First}
		for _, mv := range all {
			if mv != p.First {
				want = append(want, mv)
			}
		}
		got := make([]Mover, p.N)
		for i := range got {
			got[i] = p.Mover(i)
		}
		assert.Equal(t, want, got)
		for i, mv := range got {
			assert.Equal(t, i, p.Pick(mv))
		}
	})
}
