package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// Probes in a module's text are registered, and are gone with it: the kernel asks for
// the module by its own calls, and its own notifier is told.
func TestModules(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		k, err := linux.Open(kerneltest.Path(t, series))
		require.NoError(t, err)
		linux.Give(k)
		for _, name := range []string{"module-init", "module-unload"} {
			t.Run(series+" "+name, func(t *testing.T) {
				sc, err := library.Load(name)
				require.NoError(t, err)
				require.NoError(t, onlinux.Set(sc, k))
				r, err := rig.New(sc, "")
				require.NoError(t, err)
				defer r.Close()
				s := sched.NewSticky(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
				var gone goneStates
				r.Log.Subscribe(&gone, kpev.State)
				for i := range thorough.Of[uint64](8, 20) {
					s.Begin(i)
					run := r.Run(s)
					s.End(run.Counts.Points)
					require.Equal(t, smp.Passed, run.Outcome, "schedule %d: %s", i, run.Finding.Message)
				}
				require.Positive(t, int(gone), "no probe is gone with its text")
			})
		}
	}
}

// goneStates counts reports of a probe that is gone.
type goneStates int

func (n *goneStates) Event(e *traces.Event) *traces.Finding {
	if e.B&kpev.StateGone != 0 {
		*n++
	}
	return nil
}
