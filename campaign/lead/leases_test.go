package lead

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
)

// TestLeases adds and drops units at random, and compares the counts with those of a map.
func TestLeases(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	o, want := newLeases(), make(map[string]string)
	for range 10_000 {
		key, needs := fmt.Sprint(draw.IntN(50)), fmt.Sprint(draw.IntN(3))
		switch draw.IntN(20) {
		case 0:
			o.clear()
			clear(want)
		case 1, 2, 3, 4, 5, 6, 7, 8:
			o.drop(key)
			delete(want, key)
		default:
			o.add(key, needs)
			want[key] = needs
		}
		count := make(map[string]int)
		for key, needs := range want {
			require.True(t, o.has(key))
			count[needs]++
		}
		require.Equal(t, len(want), o.len())
		for _, needs := range []string{"0", "1", "2"} {
			require.Equal(t, count[needs], o.count[needs])
		}
	}
}

// TestCores: cores are those of the workers that were heard of last, and that were heard of lately.
func TestCores(t *testing.T) {
	l := New(nil, Options{})
	say := func(name string, cores int, bye bool, needs ...string) {
		l.recordHeartbeat(&board.Heartbeat{Name: name, Build: "b", Cores: cores, Needs: needs, Leaving: bye})
	}
	require.Zero(t, l.cores("b", "go"))
	say("one", 4, false, "go")
	say("two", 2, false, "go", "k1")
	require.Equal(t, 6, l.cores("b", "go"))
	require.Equal(t, 2, l.cores("b", "k1"))
	require.Zero(t, l.cores("other", "go"))
	say("one", 4, false, "go", "k1")
	require.Equal(t, 6, l.cores("b", "k1"))
	say("one", 8, false, "go", "k1")
	require.Equal(t, 10, l.cores("b", "k1"))
	say("two", 2, true)
	require.Equal(t, 8, l.cores("b", "go"))
	l.workers["one"].heard = time.Now().Add(-2 * silenceLimit)
	l.sweep(t.Context())
	require.Zero(t, l.cores("b", "go"))
}
