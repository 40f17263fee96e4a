package bisect

import (
	"errors"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first bad step is found in as many tests as halving takes, wherever it is.
func TestHalve(t *testing.T) {
	for last := 1; last <= 40; last++ {
		for culprit := 1; culprit <= last; culprit++ {
			tests := 0
			from, first, err := halve(last, func(step int) (verdict, error) {
				tests++
				require.NotContains(t, []int{0, last}, step, "the ends are known")
				if step >= culprit {
					return bad, nil
				}
				return good, nil
			})
			require.NoError(t, err)
			require.Equal(t, []int{culprit - 1, culprit}, []int{from, first})
			require.LessOrEqual(t, tests, bits.Len(uint(last)))
		}
	}
}

// Steps that can't be tested are passed over; what they hide is left as a range.
func TestHalveUntestable(t *testing.T) {
	for _, c := range []struct {
		says        string // of steps 1, 2, ... : g, b, or ? for one that can't be tested
		from, first int
	}{
		{"ggb", 2, 3}, {"g?b", 1, 3}, {"??b", 0, 3}, {"?gbb", 2, 3}, {"g?bb", 1, 3}, {"ggg???b", 3, 7}, {"?b", 0, 2}, {"b", 0, 1},
	} {
		from, first, err := halve(len(c.says), func(step int) (verdict, error) {
			return map[byte]verdict{'g': good, 'b': bad, '?': untestable}[c.says[step-1]], nil
		})
		require.NoError(t, err)
		require.Equal(t, []int{c.from, c.first}, []int{from, first}, c.says)
	}
	wrong := errors.New("no")
	_, _, err := halve(3, func(int) (verdict, error) { return untested, wrong })
	require.ErrorIs(t, err, wrong)
}
