package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

// Whatever is broken on purpose, runs that go on after it end, as do those of the right
// engine: no bug of the simulator, no refusal. Each witness replays, and says after what it
// goes on.
func TestEvery(t *testing.T) {
	require.NoError(t, parallel.Each(len(mutants.All), func(i int) error {
		mu := &mutants.All[i]
		if mu.Scenario == "" || i%12 != 0 && !thorough.Set() {
			return nil
		}
		sc, err := library.Load(mu.Scenario)
		if err != nil {
			return err
		}
		spec := explore.Spec{Scenario: sc, Mutant: mu.Name, Runs: 300, Seed: 1, Workers: 1, Past: properties.Every}
		if i%everyShrunk != 0 {
			spec.Runs, spec.Blind = 60, true
		}
		res, err := explore.Run(spec)
		if err != nil {
			return err
		}
		for _, w := range res.Witnesses {
			f, err := traces.Parse("w.kps", w.File.Marshal())
			require.NoError(t, err)
			r, err := replay.Play("w.kps", f, false)
			require.NoError(t, err, mu.Name)
			require.True(t, r.Same, "%s, %s: %s", mu.Name, w.Property.Name, r.Why)
			r.Rig.Close()
			if len(w.After) > 0 {
				require.NotEmpty(t, f.Remark(traces.OriginIgnored))
				r, err := playWithout(f)
				require.NoError(t, err)
				require.NotEqual(t, w.Property, r.Property, "%s: nothing needs to be ignored", mu.Name)
				require.Contains(t, w.After, r.Property)
			}
		}
		return nil
	}))
}

// everyShrunk: of so many mutants one has its witnesses made.
const everyShrunk = 20

// playWithout plays a trace that ignores nothing.
func playWithout(f *traces.File) (*rig.Run, error) {
	g := *f
	g.Origin = nil
	for _, r := range f.Origin {
		if r.Key != traces.OriginIgnored {
			g.Origin = append(g.Origin, r)
		}
	}
	rig, err := replay.Open("w.kps", &g)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	run := rig.Play(sched.NewAnchored(g.Schedule, rig.Machine.Names()))
	return &run, nil
}

// What is found first doesn't depend on whether runs go on after it: the same runs
// break something, and the properties that they break first are among those that all
// break.
func TestEveryHoldsTheFirst(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	first, err := explore.Run(explore.Spec{Scenario: sc, Strategy: "sticky", Runs: 4000, Seed: 1, Blind: true})
	require.NoError(t, err)
	all, err := explore.Run(explore.Spec{Scenario: sc, Strategy: "sticky", Runs: 4000, Seed: 1, Blind: true,
		Past: properties.Every})
	require.NoError(t, err)
	require.Positive(t, first.Violations)
	require.Equal(t, first.Violations, all.Violations)
	for name, n := range first.Broken {
		require.Equal(t, n, all.Broken[name]-all.After[name], name)
	}
	require.Greater(t, len(all.Broken), len(first.Broken), "nothing follows")

	// An ignored property is never reported, and the others are found after it
	// as often.
	ignored := properties.SetOf(&properties.NoStartInside)
	rest, err := explore.Run(explore.Spec{Scenario: sc, Strategy: "sticky", Runs: 4000, Seed: 1, Blind: true,
		Ignore: ignored})
	require.NoError(t, err)
	require.Zero(t, rest.Broken[properties.NoStartInside.Name])
	require.Equal(t, all.Broken[properties.WholeInstructions.Name], rest.Broken[properties.WholeInstructions.Name])
	require.Equal(t, rest.Broken[properties.WholeInstructions.Name], rest.After[properties.WholeInstructions.Name])
}

// Garbage that jumps into a detour calls the engine with pointers that are none: the run ends
// there, where a kernel would die, and the machine goes on with the next.
func TestGarbageEndsARun(t *testing.T) {
	sc, err := lang.Load("garbage.star", []byte(`scenario("garbage", says = "A jump is written without care.")
machine(cpus = 2, fetch = "stale", quiesce = "tasks", patch = "naive")
v = text("victim", "554889e5535b5dc3", at = 0xffffffff81000100)
k = kprobe("k", at = v)
task("patcher", cpu = 0, ops = [register(k), wait_optimized()])
task("caller", cpu = 1, ops = [schedule(), call(v)])
never()
`), nil)
	require.NoError(t, err)
	for _, spec := range []explore.Spec{{Past: properties.Every},
		{Ignore: properties.SetOf(&properties.WholeInstructions)}} {
		spec.Scenario, spec.Runs, spec.Seed, spec.Blind, spec.Workers = sc, 8000, 1, true, 1
		res, err := explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, uint64(8000), res.Runs)
		require.Positive(t, res.Broken[properties.NoOops.Name])
		require.Equal(t, res.Broken[properties.NoOops.Name], res.After[properties.NoOops.Name])
	}
}
