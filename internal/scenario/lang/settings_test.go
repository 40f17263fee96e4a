package lang

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// SettingSizes and SetSetting are for the tests outside the package: how many
// values each setting has, and one of them set.
func SettingSizes() (sizes []int) {
	for i := range scenario.Settings {
		sizes = append(sizes, len(scenario.Settings[i].Words))
	}
	return sizes
}

// SetSetting sets setting i.
func SetSetting(m *scenario.Machine, i int, v uint8) { scenario.Settings[i].Set(m, v) }

var preempts = []scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary, scenario.PreemptDynamic, scenario.PreemptFull, scenario.PreemptLazy}

// An edition's words make the engine's settings of that edition: none is
// forgotten. Who adds a setting to the engine adds a word.
func TestEditionIsPreset(t *testing.T) {
	for _, e := range scenario.Editions() {
		for _, p := range preempts {
			m := scenario.Machine{CPUs: 2, Edition: e, Preempt: p}
			m.Settle()
			require.Equal(t, kprobes.Edition(e-1).Settings(p.Built()), m.Kprobes(), "%v, %v", e, p)
			require.Equal(t, kprobes.Edition(e-1).String(), e.String())
		}
	}
	require.Len(t, scenario.Editions(), int(kprobes.Editions))
}

// Without an edition, and with nothing said, the engine is as it always was.
func TestNoEdition(t *testing.T) {
	for _, p := range preempts {
		for _, patch := range []scenario.Patch{scenario.PatchBreakpoint, scenario.PatchStopMachine} {
			m := scenario.Machine{CPUs: 2, Preempt: p, Patch: patch, Quiesce: scenario.QuiesceTasks}
			require.Equal(t, kprobes.Settings{
				Quiesce:    kapi.QuiesceTasks,
				Kernel:     rules.Kernel{Edition: rules.Edition69, Optprobes: true, Preemption: p >= scenario.PreemptDynamic},
				Breakpoint: patch == scenario.PatchBreakpoint, Batches: true, MaxactiveAll: true, Boost: kprobes.BoostNever,
			}, m.Kprobes())
		}
	}
}

// Each value of each setting can be said alone, beside no edition and beside any,
// is printed if it isn't the edition's, and is what the engine is given.
func TestSettingAlone(t *testing.T) {
	for i := range scenario.Settings {
		s := &scenario.Settings[i]
		for _, e := range append(scenario.Editions(), scenario.EditionNone) {
			var engines []kprobes.Settings
			for v := range s.Words {
				edition := ""
				if e != scenario.EditionNone {
					edition = fmt.Sprintf("edition = %q, ", e)
				}
				line := fmt.Sprintf("machine(%s%s = %s)\n", edition, s.Word, s.Value(uint8(v)))
				got, err := Load("t.star", []byte(line+"f = text('f', 'c3')\ntask(ops = [call(f)])\n"), nil)
				require.NoError(t, err, line)
				require.EqualValues(t, v, s.Get(&got.Machine), line)
				preset := got.Machine.Preset()
				for k := range scenario.Settings {
					if o := &scenario.Settings[k]; o != s {
						require.Equal(t, o.Get(&preset), o.Get(&got.Machine), "%s: %s", line, o.Word)
					}
				}
				if v == int(s.Get(&preset)) {
					require.NotContains(t, Print(got), s.Word+" = ", line)
				} else {
					require.Contains(t, Print(got), s.Word+" = "+s.Value(uint8(v)), line)
				}
				again, err := Load("t.star", []byte(Print(got)), nil)
				require.NoError(t, err)
				require.Equal(t, got.Machine, again.Machine)
				engines = append(engines, got.Machine.Kprobes())
			}
			if wired := []string{"patch", "sync_arm", "unoptimize"}; !slices.Contains(wired, s.Word) {
				for v, x := range engines {
					require.False(t, slices.Contains(engines[:v], x), "%s = %s changes nothing", s.Word, s.Words[v])
				}
			}
		}
	}
}
