package on

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// choose chooses a fault for a test, and returns what reads the file of notes.
func choose(t *testing.T, n int) (far func() string) {
	chosen, note = n, filepath.Join(t.TempDir(), "note")
	said.Store(0)
	t.Cleanup(func() { chosen = -1 })
	return func() string {
		text, _ := os.ReadFile(note)
		return string(text)
	}
}

func TestWithoutAFaultNothingChanges(t *testing.T) {
	far := choose(t, 2)
	for a := range 3 {
		for b := range 3 {
			assert.Equal(t, a < b, Less(1, a, b))
			assert.Equal(t, a <= b, AtMost(1, a, b))
			assert.Equal(t, a > b, More(1, a, b))
			assert.Equal(t, a >= b, AtLeast(1, a, b))
		}
	}
	for _, a := range []bool{false, true} {
		for _, b := range []bool{false, true} {
			for how := Swap; how <= Right; how++ {
				assert.Equal(t, a && b, And(1, how, a, func() bool { return b }))
				assert.Equal(t, a || b, Or(1, how, a, func() bool { return b }))
			}
		}
	}
	assert.False(t, N(1))
	assert.True(t, Not(1, true))
	assert.Equal(t, 7, Add(1, 7, 1))
	assert.Equal(t, "a", Other(1, "a", "b"))
	assert.Empty(t, far())
}

func TestComparisonsOffByOne(t *testing.T) {
	for _, k := range []struct {
		f          func(n, a, b int) bool
		a, b       int
		was, equal bool
	}{
		{Less[int], 1, 2, true, true}, {AtMost[int], 1, 2, true, false}, {More[int], 2, 1, true, true},
		{AtLeast[int], 2, 1, true, false},
	} {
		far := choose(t, 1)
		assert.Equal(t, k.was, k.f(1, k.a, k.b))
		assert.Equal(t, !k.was, k.f(1, k.b, k.a))
		assert.Equal(t, Reached, far(), "the value is the same")
		assert.Equal(t, k.equal, k.f(1, 3, 3))
		assert.Equal(t, Changed, far())
	}
}

func TestConjunctions(t *testing.T) {
	for how, want := range map[int]func(and bool, a, b bool) bool{
		Swap:  func(and, a, b bool) bool { return and && (a || b) || !and && a && b },
		Left:  func(_, a, _ bool) bool { return a },
		Right: func(_, _, b bool) bool { return b },
	} {
		for i := range 4 {
			a, b := i&1 != 0, i&2 != 0
			for _, and := range []bool{false, true} {
				far := choose(t, 1)
				f, was := Or, a || b
				if and {
					f, was = And, a && b
				}
				now := f(1, how, a, func() bool { return b })
				assert.Equal(t, want(and, a, b), now, "%v %v %v %v", how, and, a, b)
				if now != was {
					assert.Equal(t, Changed, far(), "%v %v %v %v", how, and, a, b)
				} else {
					require.NotEmpty(t, far())
				}
			}
		}
	}
}

func TestTheOthers(t *testing.T) {
	far := choose(t, 1)
	assert.True(t, N(1))
	assert.Equal(t, Changed, far())
	assert.False(t, Not(1, true))
	assert.Equal(t, uint8(255), Add(1, uint8(0), ^uint8(0)))
	assert.Equal(t, "b", Other(1, "a", "b"))
}

func TestUnderNoneAllAreTold(t *testing.T) {
	far := choose(t, -1)
	all = true
	t.Cleanup(func() { all = false })
	for range 2 {
		assert.False(t, N(5))
		assert.True(t, Less(7, 1, 2))
	}
	assert.Equal(t, "5\n7\n", far())
}
