package lang

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

var preempts = []scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary, scenario.PreemptDynamic,
	scenario.PreemptFull, scenario.PreemptLazy}

// An edition's machine gives the engine the settings of that edition.
func TestEditionIsPreset(t *testing.T) {
	for _, e := range rules.AllEditions() {
		for _, p := range preempts {
			m := scenario.Machine{CPUs: 2, Edition: e, Preempt: p}
			m.Settle()
			require.Equal(t, era.Of(e, p.Built()), m.Kprobes(), "%v, %v", e, p)
		}
	}
}

// Without an edition, and with nothing said, the engine is as it always was.
func TestNoEdition(t *testing.T) {
	for _, p := range preempts {
		for _, patch := range []era.Patch{era.PatchBreakpoint, era.PatchStopMachine} {
			m := scenario.Machine{CPUs: 2, Preempt: p}
			m.Settle()
			m.Patch, m.Quiesce = patch, kapi.QuiesceTasks
			e := m.Kprobes()
			require.Equal(t, era.Settings{
				Quiesce: kapi.QuiesceTasks, Patch: patch, SyncArm: true, NMILatch: true,
				Kernel: rules.Kernel{Edition: rules.Edition69, Optprobes: true,
					Preemption: p >= scenario.PreemptDynamic},
				Batches: true, MaxactiveAll: true, Boost: era.BoostNever,
			}, e)
			require.Equal(t, patch == era.PatchBreakpoint, e.UnoptimizesByInt3())
		}
	}
}

// Each value of each setting can be said alone, beside no edition and beside any,
// is printed if it isn't the edition's, and is what the engine is given.
func TestSettingAlone(t *testing.T) {
	for i := range era.Table {
		s := &era.Table[i]
		for _, e := range append(rules.AllEditions(), rules.EditionNone) {
			var engines []era.Settings
			for v := range s.Drawable() { // the others: testdata/load.txtar
				edition := ""
				if e != rules.EditionNone {
					edition = fmt.Sprintf("edition = %q, ", e)
				}
				line := fmt.Sprintf("machine(%s%s = %s)\n", edition, s.Word, s.Value(uint8(v)))
				got, err := Load("t.star", []byte(line+"f = text('f', 'c3')\ntask(ops = [call(f)])\n"), nil)
				require.NoError(t, err, line)
				require.EqualValues(t, v, s.Get(&got.Machine.Settings), line)
				for k := range era.Table {
					if o := &era.Table[k]; o != s {
						require.Equal(t, o.Preset(e, false), o.Get(&got.Machine.Settings), "%s: %s", line, o.Word)
					}
				}
				if v == int(s.Preset(e, false)) {
					require.NotContains(t, Print(got), s.Word+" = ", line)
				} else {
					require.Contains(t, Print(got), s.Word+" = "+s.Value(uint8(v)), line)
				}
				again, err := Load("t.star", []byte(Print(got)), nil)
				require.NoError(t, err)
				require.Equal(t, got.Machine, again.Machine)
				engines = append(engines, got.Machine.Kprobes())
			}
			for v, x := range engines {
				require.False(t, slices.Contains(engines[:v], x), "%s = %s changes nothing", s.Word, s.Values[v])
			}
		}
	}
}
