package twoengines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Programs for a kernel's own engine hit a debugger's breakpoints and uprobes, and what one
// task does of them alone is answered alike by kpsim's.
func TestTrapsOfOthers(t *testing.T) {
	for _, pair := range thorough.Of(every[:1], every) {
		t.Run(pair.series, func(t *testing.T) {
			k := opened(t, pair.series)
			want := thorough.Of(2, 6)
			hits := map[*scenario.Operation]*trapsOf{act.SetBreakpoint: {kind: smpev.Debugger},
				act.HitUprobe: {kind: smpev.Uprobe}}
			for seed := uint64(1); hits[act.SetBreakpoint].programs < want ||
				hits[act.HitUprobe].programs < want; seed++ {
				sc, _ := gen.Of(&gen.Recipe{Seed: seed}, twoengines.DrawnFor(k))
				for kind, of := range hits {
					if !sc.Does(kind) || of.programs == want {
						continue
					}
					of.programs++
					compare(t, twoengines.Serial(twoengines.Straight(sc)), k, pair.edition)
					s := *sc
					require.NoError(t, onlinux.Set(&s, k))
					r, err := rig.New(&s, "")
					require.NoError(t, err)
					r.Log.Subscribe(of, of.kind)
					r.Run(new(sched.Default))
					r.Close()
				}
			}
			for kind, of := range hits {
				require.Positive(t, of.events, "%v", kind)
			}
		})
	}
}

// trapsOf counts events of one kind, and the programs in which they are.
type trapsOf struct {
	kind             traces.Kind
	programs, events int
}

func (c *trapsOf) Event(*traces.Event) *traces.Finding { c.events++; return nil }
