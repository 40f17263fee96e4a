package properties

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// An event known to be irrelevant isn't any more when the facts behind that may have
// changed.
func TestDullEnds(t *testing.T) {
	const linked, slot = 0x1000, 0x2000
	take := func(s *Scene, e *traces.Event) bool { return takes[e.Kind](s, e) }
	exec := func(at uint64) *traces.Event {
		return &traces.Event{Kind: smpev.Exec, A: at, B: 0x90, C: 1 << 56}
	}
	for name, change := range map[string]traces.Event{
		"a store there": {Kind: smpev.TextStore, A: slot, B: 0xcc, C: 1},
		"an image":      {Kind: smpev.Image, A: linked, B: 0xcc, C: 1 << 56},
		"it is freed":   {Kind: smpev.Free, A: slot, B: 16},
		"handed out":    {Kind: smpev.Alloc, A: slot, B: 16},
		"more text":     {Kind: smpev.Load, A: linked + 1, B: 0xc3, C: 1 << 56},
	} {
		s := Scene{proc: processorOf(x86.AMD64)}
		s.reset()
		take(&s, &traces.Event{Kind: smpev.Load, A: linked, B: 0x90, C: 1 << 56})
		take(&s, &traces.Event{Kind: smpev.Alloc, A: slot, B: 16})
		take(&s, &traces.Event{Kind: smpev.TextStore, A: slot, B: 0x90, C: 1})
		for _, at := range []uint64{linked, slot} {
			require.False(t, s.wasDull(exec(at)), name)
			require.True(t, take(&s, exec(at)), name)
			require.True(t, s.wasDull(exec(at)), name)
		}
		other := exec(slot)
		other.B = 0xcc
		require.False(t, s.wasDull(other), "other bytes")
		take(&s, &change)
		require.False(t, s.wasDull(exec(slot)), name)
		require.False(t, s.wasDull(exec(linked)), name)
	}
	s := Scene{proc: processorOf(x86.AMD64)}
	take(&s, &traces.Event{Kind: smpev.Load, A: linked, B: 0x90, C: 1 << 56})
	take(&s, exec(linked))
	s.reset()
	require.False(t, s.wasDull(exec(linked)), "another run")
}
