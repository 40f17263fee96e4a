package explore

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
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

// TestUnseen: of populations whose classes are known, of many shapes and sizes of sample, the
// interval holds the true chance that one more is new at least as often as it says, and is no
// wider than it needs to be. Of a sample that was all one class, or all different, it is not a
// point.
func TestUnseen(t *testing.T) {
	shapes := []struct {
		name   string
		weight func(i int) float64
		most   int
	}{
		{"2 alike", func(int) float64 { return 1 }, 2},
		{"30 alike", func(int) float64 { return 1 }, 30},
		{"200 alike", func(int) float64 { return 1 }, 200},
		{"20,000 alike", func(int) float64 { return 1 }, 20_000},
		{"geometric, halves", func(i int) float64 { return math.Pow(0.5, float64(i)) }, 60},
		{"geometric, 0.98", func(i int) float64 { return math.Pow(0.98, float64(i)) }, 2_000},
		{"Zipf, 1", func(i int) float64 { return 1 / float64(i+1) }, 5_000},
		{"Zipf, 2", func(i int) float64 { return 1 / float64((i+1)*(i+1)) }, 5_000},
		{"Zipf, 0.5", func(i int) float64 { return 1 / math.Sqrt(float64(i+1)) }, 3_000},
		{"one rare among one common", func(i int) float64 { return []float64{0.998, 0.002}[i] }, 2},
		{"5 rare among 3 common", func(i int) float64 { return []float64{300, 1}[min(i/3, 1)] }, 8},
		{"many rare among 3 common", func(i int) float64 { return []float64{300, 0.1}[min(i/3, 1)] }, 1_000},
		{"two levels", func(i int) float64 { return []float64{10, 1}[min(i/50, 1)] }, 500},
	}
	const trials = 600
	for _, s := range shapes {
		upTo := make([]float64, s.most)
		sum := 0.0
		for i := range upTo {
			sum += s.weight(i)
			upTo[i] = sum
		}
		for _, n := range []int{37, 90, 400, 1_000} {
			var r sim.Rand
			held, width := 0, 0.0
			for trial := range trials {
				r.Seed(uint64(trial), uint64(n))
				met := make(map[int]int)
				var c Classes
				for range n {
					h, _ := slices.BinarySearch(upTo, sum*(float64(r.N(1<<30))+0.5)/(1<<30))
					met[h]++
					c.Add(uint64(h))
				}
				truth := 1.0
				for h := range met {
					truth -= s.weight(h) / sum
				}
				_, once, twice := c.count()
				got := unseen(uint64(n), once, twice)
				width += (got.High - got.Low) / trials
				if got.Low-1e-9 <= truth && truth <= got.High+1e-9 {
					held++
				}
			}
			share := float64(held) / trials
			t.Logf("%-26s n=%-5d covers %.1f %%, is %.3f wide", s.name, n, 100*share, width)
			assert.GreaterOrEqual(t, share, 0.95, "%s, %d runs", s.name, n)
			assert.Less(t, width, 4/math.Sqrt(float64(n)), "%s, %d runs", s.name, n)
		}
	}

	require.Equal(t, Chance{0, 0, 1}, unseen(0, 0, 0))
	require.InDelta(t, 4.605, upperMean(0), 1e-3) // -ln 0.01
	require.InDelta(t, 6.638, upperMean(1), 1e-3) // (1+m)exp(-m) = 0.01
	for _, n := range []uint64{1, 100, 10_000} {
		none, all := unseen(n, 0, 0), unseen(n, n, 0)
		require.True(t, none.Estimate == 0 && none.Low == 0 && none.High >= min(1, 3/float64(n)), "%v", none)
		require.True(t, all.Estimate == 1 && all.High == 1 && all.Low <= max(0, 1-3/float64(n)), "%v", all)
	}
}
