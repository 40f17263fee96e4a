package scenario

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// SettingSizes and SetSetting are for the tests outside the package: how many
// values each setting has, and one of them set.
func SettingSizes() (sizes []int) {
	for i := range settings {
		sizes = append(sizes, len(settings[i].words))
	}
	return sizes
}

// SetSetting sets setting i.
func SetSetting(m *Machine, i int, v uint8) { settings[i].set(m, v) }

var preempts = []Preempt{PreemptNone, PreemptVoluntary, PreemptDynamic, PreemptFull, PreemptLazy}

// An edition's words make the engine's settings of that edition: none is
// forgotten. Who adds a setting to the engine adds a word.
func TestEditionIsPreset(t *testing.T) {
	for _, e := range Editions() {
		for _, p := range preempts {
			m := Machine{CPUs: 2, Edition: e, Preempt: p}
			m.Settle()
			require.Equal(t, kprobes.Edition(e-1).Settings(p.Built()), m.Engine(), "%v, %v", e, p)
			require.Equal(t, kprobes.Edition(e-1).String(), e.String())
		}
	}
	require.Len(t, Editions(), int(kprobes.Editions))
}

// Without an edition, and with nothing said, the engine is as it always was.
func TestNoEdition(t *testing.T) {
	for _, p := range preempts {
		for _, patch := range []Patch{PatchBreakpoint, PatchStopMachine} {
			m := Machine{CPUs: 2, Preempt: p, Patch: patch, Quiesce: QuiesceTasks}
			require.Equal(t, kprobes.Settings{
				Quiesce:    kapi.QuiesceTasks,
				Kernel:     rules.Kernel{Edition: rules.Edition69, Optprobes: true, Preemption: p >= PreemptDynamic},
				Breakpoint: patch == PatchBreakpoint, Batches: true, MaxactiveAll: true, Boost: kprobes.BoostNever,
			}, m.Engine())
		}
	}
}

// Each value of each setting can be said alone, beside no edition and beside any,
// is printed if it isn't the edition's, and is what the engine is given.
func TestSettingAlone(t *testing.T) {
	for i := range settings {
		s := &settings[i]
		for _, e := range append(Editions(), EditionNone) {
			var engines []kprobes.Settings
			for v := range s.words {
				edition := ""
				if e != EditionNone {
					edition = fmt.Sprintf("edition = %q, ", e)
				}
				line := fmt.Sprintf("machine(%s%s = %s)\n", edition, s.word, s.value(uint8(v)))
				got, err := Load("t.star", []byte(line+"f = text('f', 'c3')\ntask(ops = [call(f)])\n"), nil)
				require.NoError(t, err, line)
				require.EqualValues(t, v, s.get(&got.Machine), line)
				preset := got.Machine.preset()
				for k := range settings {
					if o := &settings[k]; o != s {
						require.Equal(t, o.get(&preset), o.get(&got.Machine), "%s: %s", line, o.word)
					}
				}
				if v == int(s.get(&preset)) {
					require.NotContains(t, got.String(), s.word+" = ", line)
				} else {
					require.Contains(t, got.String(), s.word+" = "+s.value(uint8(v)), line)
				}
				again, err := Load("t.star", []byte(got.String()), nil)
				require.NoError(t, err)
				require.Equal(t, got.Machine, again.Machine)
				engines = append(engines, got.Machine.Engine())
			}
			if wired := []string{"patch", "sync_arm", "unoptimize"}; !slices.Contains(wired, s.word) {
				for v, x := range engines {
					require.False(t, slices.Contains(engines[:v], x), "%s = %s changes nothing", s.word, s.words[v])
				}
			}
		}
	}
}
