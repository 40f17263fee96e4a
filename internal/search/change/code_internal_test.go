package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/source"
)

// common is a longest common subsequence.
func TestCommon(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""}, {"abc", "", ""}, {"abc", "abc", "abc"}, {"abcd", "abxd", "abd"}, {"xabc", "abc", "abc"},
		{"abc", "cab", "ab"}, {"aab", "ab", "ab"},
	} {
		require.Equal(t, c.want, paired(t, c.a, c.b), "%s, %s", c.a, c.b)
	}
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[abc]{0,9}`)
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		require.Len(t, paired(t, a, b), longest(a, b))
	})
}

// paired is what common pairs.
func paired(t require.TestingT, a, b string) string {
	x, y := strings.Split(a, ""), strings.Split(b, "")
	var s strings.Builder
	last := [2]int{-1, -1}
	for _, p := range common(x, y) {
		require.True(t, p[0] > last[0] && p[1] > last[1], "in order")
		require.Equal(t, x[p[0]], y[p[1]])
		s.WriteString(x[p[0]])
		last = p
	}
	return s.String()
}

// longest is the length of a longest common subsequence, by its definition.
func longest(a, b string) int {
	switch {
	case a == "" || b == "":
		return 0
	case a[0] == b[0]:
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}

// A kernel's code doesn't differ from itself; that of another release does, in what the
// functions are called and call.
func TestCodeOf(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	src := source.Of(k, "")
	require.True(t, CodeOf(k, k, src).Same())
	other, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	c := CodeOf(k, other, source.Of(other, ""))
	is := func(list []Function, name string) bool {
		return slices.ContainsFunc(list, func(f Function) bool { return f.Name == name })
	}
	require.True(t, is(c.Functions, "register_kprobe"))
	require.True(t, is(c.New, "execmem_alloc") || slices.Contains(c.Calls, "execmem_alloc"))
	require.Contains(t, c.CallsGone, "module_alloc")
	require.Len(t, c.Places, mostPlaces)
	require.Positive(t, c.Left)
	require.True(t, c.Places[0].Entry)
}

// Ends are told that enough runs show, and none of the other's.
func TestOnlyEnds(t *testing.T) {
	a := map[string]uint64{"often": fewEnds, "rare": fewEnds - 1, "both": 50, "more": 99}
	require.Equal(t, []string{"more", "often"}, onlyEnds(a, map[string]uint64{"both": 1}))
	require.Empty(t, onlyEnds(nil, a))
}

// The looks of shards add up.
func TestJoined(t *testing.T) {
	places := []Place{{}, {}}
	var list []explore.Look
	for i := range 3 {
		l := newLook(places)().(*look)
		l.reached[1] = uint64(i)
		l.ends["x"] = 2
		list = append(list, &counter{inner: l})
	}
	reached, ends := joined(list, places)
	require.Equal(t, []uint64{0, 3}, reached)
	require.Equal(t, map[string]uint64{"x": 6}, ends)
	reached, _ = joined(list, nil) // nothing is asked of places
	require.Empty(t, reached)
}
