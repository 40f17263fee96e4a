package viewer

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/traces"
	"kpsim/traces/view"
)

// The steps of a longest common subsequence of two lists are paired.
func TestPaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 9)
		x, y := list.Draw(t, "x"), list.Draw(t, "y")
		inX, inY := paired(x, y)
		pick := func(list []int, in []bool) (out []int) {
			for i, v := range list {
				if in[i] {
					out = append(out, v)
				}
			}
			return out
		}
		require.Equal(t, pick(x, inX), pick(y, inY))
		require.Len(t, pick(x, inX), longest(x, y))
	})
}

// longest is the length of a longest common subsequence, by the definition.
func longest(x, y []int) int {
	switch {
	case len(x) == 0 || len(y) == 0:
		return 0
	case x[0] == y[0]:
		return 1 + longest(x[1:], y[1:])
	}
	return max(longest(x[1:], y), longest(x, y[1:]))
}

// What only one run has is told; of runs that have too little in common that is all
// between their beginnings and ends.
func TestDiffer(t *testing.T) {
	scene := func(says ...string) *view.Scene {
		s := &view.Scene{CPUs: 2}
		for i, w := range says {
			s.Steps = append(s.Steps, view.Step{Event: traces.Event{CPU: w[0] - '0', Seq: uint32(i)}, Says: w[1:]})
		}
		return s
	}
	a, b := differ(scene("0a", "0b", "1c", "0d", "0e"), scene("0a", "0c", "0d", "1x", "0e"))
	require.Equal(t, []view.Stretch{{From: 1, To: 2}}, a, "another CPU's isn't the same")
	require.Equal(t, []view.Stretch{{From: 1, To: 1}, {From: 3, To: 3}}, b)

	var x, y []string
	for range 2 * differMost {
		x, y = append(x, "0x"), append(y, "0y")
	}
	x[7], y[9] = "0m", "0m"
	a, b = differ(scene(slices.Concat([]string{"0a"}, x, []string{"0e"})...),
		scene(slices.Concat([]string{"0a"}, y, []string{"0e"})...))
	require.Equal(t, []view.Stretch{{From: 1, To: 2 * differMost}}, a)
	require.Equal(t, []view.Stretch{{From: 1, To: 2 * differMost}}, b)
}
