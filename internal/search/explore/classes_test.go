package explore

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
)

// TestClasses: counts to three, adds up, and is the same written and read.
func TestClasses(t *testing.T) {
	var whole, a, b Classes
	var r sim.Rand
	r.Seed(1, 0)
	for i := range 1_000 {
		h := uint64(r.N(400))
		whole.Add(h)
		if i%3 == 0 {
			a.Add(h)
		} else {
			b.Add(h)
		}
	}
	a.Join(&b)
	require.Equal(t, whole, a)
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	var read Classes
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, whole, read)

	var c Classes
	for _, h := range []uint64{7, 8, 8, 9, 9, 9, 9, 10} {
		c.Add(h)
	}
	all, once, twice := c.count()
	require.Equal(t, [3]uint64{4, 2, 1}, [3]uint64{all, once, twice})
}

// TestUnseen: of populations whose classes are known the interval holds the true
// chance that one more is new about as often as it says, and is no wider than it
// needs to be. Of a sample that was all one class, or all different, it is not a
// point.
func TestUnseen(t *testing.T) {
	var r sim.Rand
	for _, pop := range []struct {
		name    string
		classes int
		draw    func() int // skewed or not
	}{
		{"200 alike", 200, func() int { return r.N(200) }},
		{"20,000 alike", 20_000, func() int { return r.N(20_000) }},
		{"3,000, some common", 3_000, func() int { return r.N(1 + r.N(1+r.N(3_000))) }},
		{"one of 2 mostly", 1_000, func() int {
			if r.N(10) > 0 {
				return r.N(2)
			}
			return r.N(1_000)
		}},
	} {
		const n, trials = 1_000, 400
		weights := make([]float64, pop.classes)
		r.Seed(2, 7)
		const draws = 2_000_000
		for range draws {
			weights[pop.draw()] += 1.0 / draws
		}
		held, width := 0, 0.0
		for trial := range trials {
			r.Seed(uint64(trial), 3)
			var c Classes
			met := make([]bool, pop.classes)
			for range n {
				h := pop.draw()
				met[h] = true
				c.Add(uint64(h))
			}
			truth := 0.0
			for h, w := range weights {
				if !met[h] {
					truth += w
				}
			}
			_, once, twice := c.count()
			got := unseen(n, once, twice)
			width += (got.High - got.Low) / trials
			if got.Low <= truth && truth <= got.High {
				held++
			}
		}
		require.GreaterOrEqual(t, held, trials*90/100, pop.name)
		require.Less(t, width, 0.1, pop.name)
	}

	require.Equal(t, Chance{0, 0, 0.03}, unseen(100, 0, 0))
	require.Equal(t, Chance{1, 0.97, 1}, unseen(100, 100, 0))
	require.Equal(t, Chance{0, 0, 1}, unseen(0, 0, 0))
}
