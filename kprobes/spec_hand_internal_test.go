package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// specHand is what mutants that were put into the engine by hand have shown to be
// held by nothing else.
var specHand = []specRule{
	{
		rule: "4.6", says: "a run of the optimizer writes and takes away so many jumps at most, and comes again for the rest", in: since(Edition415),
		mutants: []specMutant{{name: "one more", do: func(s *Settings) { s.Batch = 3 }}, {name: "one less", do: func(s *Settings) { s.Batch = 1 }}},
		holds: func(t *specT) {
			require.Equal(t, map[Edition]int{EditionDocumented: 256}[t.Edition], t.Edition.Settings(t.Preemption).Batch)
			if t.Settings.Batch == 0 || t.Settings.Batch == MostOptimized {
				t.Settings.Batch = 2
			}
			five := manyFunctions(5)
			b := t.boot(nil, five.boot, func(b *bench, x *smp.Ctx) {
				for i := range int(five) {
					require.NoError(t, b.e.Register(x, b.at(five.at(i), new(int))))
				}
				var runs inRuns
				b.log.Subscribe(&runs, smpev.GPStart, kpev.Optimized, kpev.Unoptimized)
				defer b.log.Unsubscribe(&runs)
				b.e.WaitOptimizer(x)
				require.Equal(t, []int{2, 2, 1}, runs.of(kpev.Optimized))
				b.e.SetOptimization(x, false)
				require.Equal(t, []int{2, 2, 1}, runs.of(kpev.Unoptimized))
			})
			t.pass(b)
		},
	},
}

// inRuns counts events of a kind that come without a grace period between them.
type inRuns struct {
	kinds []traces.Kind
}

// Event implements traces.Sink.
func (r *inRuns) Event(e *traces.Event) *traces.Finding {
	r.kinds = append(r.kinds, e.Kind)
	return nil
}

func (r *inRuns) of(k traces.Kind) (counts []int) {
	n := 0
	for _, kind := range append(r.kinds, smpev.GPStart) {
		switch {
		case kind == k:
			n++
		case kind == smpev.GPStart && n > 0:
			counts, n = append(counts, n), 0
		}
	}
	return counts
}
