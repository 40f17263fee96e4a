package viewer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/smpev"
	"kpsim/traces/view"
)

// longest is how many events of a run are looked at: a livelock has very many of the same.
const longest = 3000

// What is drawn of IPIs is in the events: an arrow leads to the interrupt that it became, and
// a wait ends when each CPU has serialised in a handler, before the sender does anything else.
func TestIPIs(t *testing.T) {
	files, err := filepath.Glob("../../../" + corpus + "*.kps")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	arrows, waits := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".kps")
		s := witness(t, name).Scene
		for _, a := range s.Arrows {
			from, to := &s.Steps[a.From].Event, &s.Steps[a.To].Event
			if a.Kind != "ipi" || a.From > longest {
				continue
			}
			arrows++
			assert.Equal(t, smpev.SendIPI, from.Kind, name)
			assert.Equal(t, smpev.Trap, to.Kind, name)
			assert.NotZero(t, from.A>>to.CPU&1, "%s: %v leads to %v", name, from, to)
			for i := a.From + 1; i < a.To; i++ {
				e := &s.Steps[i].Event
				assert.False(t, e.CPU == to.CPU && e.Kind == smpev.Trap && e.A == to.A, "%s: %v came before %v", name,
					e, to)
			}
		}
		for _, w := range s.Spans {
			if w.Kind != view.SpanSync || w.From > longest {
				continue
			}
			waits++
			sent := &s.Steps[w.From].Event
			left := sent.A
			for i := w.From + 1; i <= w.To; i++ {
				e := &s.Steps[i].Event
				if e.Kind == smpev.Serialise && e.CPU != sent.CPU && s.Steps[i].Depth > 0 {
					left &^= 1 << e.CPU
				}
				goesOn := e.Task == sent.Task && s.Steps[i].Depth == s.Steps[w.From].Depth &&
					e.Kind != smpev.Serialise &&
					e.Kind != smpev.Trap && e.Kind != smpev.Fire
				assert.False(t, goesOn && i < w.To, "%s: %v while it waits since %v", name, e, sent)
			}
			assert.True(t, left == 0 || w.To == len(s.Steps)-1, "%s: %v waits until %v", name, sent,
				&s.Steps[w.To].Event)
		}
	}
	t.Logf("%d arrows, %d waits", arrows, waits)
	require.Positive(t, arrows)
	require.Positive(t, waits)
}
