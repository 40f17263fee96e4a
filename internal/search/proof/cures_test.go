package proof

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp"
)

// races are what is built in of patchers that a scenario describes, with the cure of each.
var races = map[string]string{
	"hook-bytes": "hook-breakpoint", "hook-unsynced": "hook-synced", "hook-inside": "hook-moves",
	"displacement-torn": "displacement-aligned", "call-torn": "call-breakpoint",
	"method-stale": "method-serialised", "immediate-half": "immediate-aligned",
	"trampoline-looked": "trampoline-awaited", "image-sleeps": "image-outside", "dispatcher-rcu": "dispatcher-tasks",
	"branch-into": "branch-behind", "checker-half": "checker-waits", "stopped-lock": "locked-first",
	"unload-early": "unload-safepoint", "foreign-fentry": "foreign-looked",
	"alias-bytes": "alias-once", "alias-unsynced": "alias-breakpoint", "alias-link": "alias-aligned",
	"alias-flushed": "alias-membarrier",
}

// curesDir is beside the page that shows them.
const curesDir = "../../../docs/cures"

// TestCures: each race is found, and its cure is proved by all schedules; that of a task that sleeps, which has too
// many, by thousands of drawn ones.
func TestCures(t *testing.T) {
	t.Parallel()
	for race, cure := range races {
		t.Run(race, func(t *testing.T) {
			t.Parallel()
			sc, err := library.Load(race)
			require.NoError(t, err)
			require.True(t, sc.Expect.Sometimes)
			require.NotZero(t, drawnBreaks(t, sc, 1000), "the race")
			cured := loadCure(t, cure)
			require.Zero(t, drawnBreaks(t, cured, thorough.Of[uint64](1000, 20_000)), "the cure")
			if cure == "image-outside" || searchtest.Slow > 1 {
				return
			}
			ends, stats := endsOfStates(t, cured, "")
			require.NotZero(t, stats.Runs)
			for e := range ends {
				require.Equal(t, smp.Passed.String(), e.name)
			}
		})
	}
}

// TestCompiledPatchers: a patcher in compiled code, which stores by an alias, breaks what the operations break that do
// the same.
func TestCompiledPatchers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"hook-bytes":        {`write(f, jump_to(g), by = 1)`, `call(o.hook_bytes, w, f, g)`},
		"hook-inside":       {`write(f, jump_to(g), by = 8)`, `call(o.hook_once, w, f, g)`},
		"displacement-torn": {`write(f + 6, displacement(g), by = 4)`, `call(o.link_block, w, f, g)`},
		"method-stale":      {`write(f, "b802000000 c3", by = 8), call(publish)`, `call(o.compile_flushed, w, flag)`},
		"immediate-half": {`write(f + 2, "2222222222222222", by = 8)`,
			`call(o.move_pointer, w, 0x2222222222222222)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := library.Source(name)
			require.NoError(t, err)
			require.Contains(t, string(src), c[0])
			program := strings.Replace(string(src), c[0], c[1], 1)
			program = strings.Replace(program, "task(", "w = alias(\"w\", f)\no = elf(\"patchers.o\")\ntask(", 1)
			sc, err := lang.Load(name+".star", []byte(program), library.Open)
			require.NoError(t, err)
			broken := make(map[string]uint64)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			s := sched.NewPortfolio(sched.Params{Seed: 47, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(300) / searchtest.Slow {
				if run, _ := r.Next(s, i); run.Property != nil {
					broken[run.Property.Name]++
				}
			}
			require.Len(t, broken, 1)
			require.NotZero(t, broken[sc.Expect.Property])
		})
	}
}

func loadCure(t *testing.T, name string) *scenario.Scenario {
	src, err := os.ReadFile(filepath.Join(curesDir, name+".star"))
	require.NoError(t, err)
	sc, err := lang.Load(name+".star", src, library.Open)
	require.NoError(t, err)
	require.False(t, sc.Expect.Sometimes)
	return sc
}

// drawnBreaks returns how many of n drawn runs break a property.
func drawnBreaks(t *testing.T, sc *scenario.Scenario, n uint64) (broken uint64) {
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	s := sched.NewPortfolio(sched.Params{Seed: 47, Length: r.Run(new(sched.Default)).Counts.Points})
	for i := range n / searchtest.Slow {
		if run, _ := r.Next(s, i); run.Property != nil {
			broken++
		}
	}
	return broken
}

// TestEachCureIsTried: none lies there without its race.
func TestEachCureIsTried(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(curesDir, "*.star"))
	require.NoError(t, err)
	require.Len(t, files, len(races))
	for _, f := range files {
		require.Contains(t, slices.Collect(maps.Values(races)), strings.TrimSuffix(filepath.Base(f), ".star"))
	}
}

// TestStoppedStepsCommute is TestStepsCommute where CPUs are stopped, whose IPIs have a handler of several steps, and
// where tasks come back to memory for code.
func TestStoppedStepsCommute(t *testing.T) {
	t.Parallel()
	total := new(swapCount)
	for _, name := range []string{"hook-moves", "image-outside", "locked-first"} {
		sc := loadCure(t, name)
		for i, f := range []string{"coherent", "stale", "mixing"} {
			require.NoError(t, sc.SetFetch(f))
			commute(t, sc, "", uint64(i), 160/int(searchtest.Slow), false, total)
		}
	}
	t.Log(total)
}
