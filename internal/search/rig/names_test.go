package rig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
)

// nameless collects the objects that have no name but a number.
type nameless struct {
	rig  *rig.Rig
	seen map[sim.Object]string
}

func (n *nameless) Stepped(_ sim.Mover, touched []sim.Touch) {
	for _, t := range touched {
		if n.seen[t.Object] == "" {
			n.seen[t.Object] = n.rig.Machine.Names().Object(t.Object)
		}
	}
}

// TestObjectsHaveNames: whatever a step touches can be said in words, and two
// things aren't called the same.
func TestObjectsHaveNames(t *testing.T) {
	for _, name := range []string{"safe-full", "stop-machine-alone", "jump-label-flip", "optimization-off",
		"nmi-on-text"} {
		sc, err := library.Load(name)
		require.NoError(t, err)
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		defer rig.Close()
		n := &nameless{rig, make(map[sim.Object]string)}
		rig.Observe(n)
		s := sched.NewRandom(sched.Params{Seed: 1, Length: 200})
		for i := range uint64(20) {
			s.Begin(i)
			rig.Run(s)
		}
		object := make(map[string]sim.Object)
		for o, name := range n.seen {
			require.False(t, strings.HasPrefix(name, "cell ") || name == "nothing", "%#x: %s", uint64(o), name)
			require.NotContains(t, name, "0xffff")
			require.Zero(t, object[name], "%s: %#x and %#x", name, uint64(o), uint64(object[name]))
			object[name] = o
		}
		require.Greater(t, len(object), 10)
		if name == "safe-full" {
			require.Contains(t, object, "whether victim+0x0 is armed")
		}
	}
}
