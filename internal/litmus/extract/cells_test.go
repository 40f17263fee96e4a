package extract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/run"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp"
)

// runsOf calls each with drawn runs of a built-in scenario under a memory model.
func runsOf(t *testing.T, name, mutant string, memory smp.Ordering, runs uint64,
	each func(*replay.Replay) (more bool)) {
	sc, err := library.Load(name)
	require.NoError(t, err)
	sc.Machine.Memory = memory
	r, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer r.Close()
	r.Log.Store = true
	s, err := sched.New("sticky", sched.Params{Seed: 1, Length: 1000})
	require.NoError(t, err)
	l := sched.NewLabeller(s, r.Machine.Names())
	for i := range runs {
		l.Begin(i)
		got := r.Run(l)
		l.End(got.Counts.Points)
		if !each(&replay.Replay{Rig: r, Run: got, Taken: append(replay.Replay{}.Taken, l.Anchors()...)}) {
			return
		}
	}
	t.Helper()
}

// A message passing of text_poke's descriptor, under the kernel's model, and store buffering of
// the CPU-hotplug lock, under x86's: the witness of a barrier that is left out asks what the
// barrier is for. The first is Never under x86's model.
func TestBarriers(t *testing.T) {
	for _, c := range []struct {
		scenario, mutant string
		memory           smp.Ordering
		under            map[run.Memory]bool
		has              []string
	}{
		{"batch-poke", "drop-text-poke-publish-before-int3", smp.LKMM,
			map[run.Memory]bool{run.LKMM: true, run.TSO: false, run.SC: false}, []string{
				"\tsmp_store_release(text_poke_bp_s_descriptor, ",
				"\tWRITE_ONCE(*text, ", "= READ_ONCE(*text);", "\tsmp_rmb();",
				"= READ_ONCE(*text_poke_bp_s_descriptor);",
			}},
		{"hotplug", "drop-cpus-write-block-before-counting", smp.TSO,
			map[run.Memory]bool{run.LKMM: true, run.TSO: true, run.SC: false}, []string{
				"= xchg_relaxed(the_readers_of_cpu_hotplug_lock, ",
				"\tsmp_mb();", "= smp_load_acquire(the_writer_of_cpu_hotplug_lock);",
				"\tWRITE_ONCE(*the_writer_of_cpu_hotplug_lock, ", "= READ_ONCE(*the_readers_of_cpu_hotplug_lock);",
			}},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			found := false
			runsOf(t, c.scenario, c.mutant, c.memory, 20000, func(r *replay.Replay) bool {
				if r.Property == nil {
					return true
				}
				got, err := Make(r, "traces/test.kps", "test", nil)
				require.NoError(t, err)
				if !got.weak {
					return true
				}
				found = true
				for _, s := range c.has {
					require.Contains(t, got.text, s)
				}
				for m, want := range c.under {
					require.Equal(t, want, holds(search(t, got.text, m)), "under %s: %s", m, got.text)
				}
				return false
			})
			require.True(t, found)
		})
	}
}

// TestDrawnCells: what kernel routines did in a drawn run can be done under the run's model, with
// a barrier left out, so that many runs aren't sequentially consistent.
func TestDrawnCells(t *testing.T) {
	weak := make(map[string]int)
	for _, row := range []string{
		"batch-poke lkmm drop-text-poke-publish-before-int3",
		"batch-poke lkmm drop-int3-hit-before-reading", "batch-poke lkmm drop-text-poke-all-before-the-text",
		"torn-jump lkmm drop-int3-hold-before-reading", "jump-label-flip lkmm drop-int3-hit-before-reading",
		"hotplug lkmm drop-cpus-read-count-before-looking",
		"hotplug lkmm drop-cpus-write-block-before-counting", "hotplug tso drop-cpus-write-block-before-counting",
		"stop-machine-stale tso drop-stop-machine-step-before-waking",
		"second-instruction tso drop-worker-clear-before-working",
	} {
		f := strings.Fields(row)
		memory, _ := smp.OrderingNamed(f[1])
		runsOf(t, f[0], f[2], memory, thorough.Of[uint64](100, 10_000), func(r *replay.Replay) bool {
			got, err := Make(r, "traces/test.kps", "test", nil)
			if err != nil || len(got.kept) > 16 { // the larger ones take long
				return true
			}
			if found := search(t, got.text, run.Memory(f[1])); found.Complete {
				require.True(t, holds(found), "%s: %s", row, got.text)
			}
			if got.weak {
				weak[f[1]]++
			}
			return true
		})
	}
	t.Log("not sequentially consistent: ", weak)
	require.NotZero(t, weak["lkmm"])
}
