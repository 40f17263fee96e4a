package mutant_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes"
	"kpsim/properties"
	"kpsim/properties/harness"
	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
)

// seeds is how many explorations each mutant must be found in; most bounds the
// runs of one.
const (
	seeds = 20
	most  = 40_000
)

// TestMutants: every mutant is killed, by the property that must notice, in
// each of 20 explorations; the median of the runs it took is printed. Whether
// the right engine passes in the same scenario is TestBuiltin's business, in
// harness.
func TestMutants(t *testing.T) {
	n := seeds / slow
	if testing.Short() {
		n = 2
	}
	for i := range mutant.All {
		mu := &mutant.All[i]
		t.Run(mu.Name, func(t *testing.T) {
			t.Parallel()
			sc, err := scenario.LoadBuiltin(mu.Scenario)
			require.NoError(t, err)
			_, ok := properties.ByName(mu.Property)
			require.True(t, ok, "no property is called %s", mu.Property)

			var first []uint64
			for seed := range n {
				res, err := harness.Explore(harness.Spec{
					Scenario: sc, Mutant: mu.Name, Seed: uint64(seed), Runs: most, Workers: 1, Stop: true, Blind: true,
				})
				require.NoError(t, err)
				require.NotZero(t, res.Violations, "seed %d: %d runs have not found it", seed, res.Runs)
				for got := range res.Broken {
					require.True(t, got == mu.Property || slices.Contains(mu.Also, got),
						"seed %d: noticed by %s, not by %s", seed, got, mu.Property)
				}
				first = append(first, res.Runs)
			}
			slices.Sort(first)
			t.Logf("%-24s %-24s %-20s median of %d: %d runs (%d to %d)",
				mu.Name, mu.Scenario, mu.Property, n, first[n/2], first[0], first[n-1])
		})
	}
}

// TestShipped: an edition's own faults are found, each alone in the scenario that
// is given for it, and all together in the same; on the repaired algorithm that
// edition passes there.
func TestShipped(t *testing.T) {
	for i := range mutant.Shipped {
		f := &mutant.Shipped[i]
		t.Run(f.Edition.String()+"/"+f.Mutant, func(t *testing.T) {
			t.Parallel()
			sc, err := scenario.LoadBuiltin(f.Scenario)
			require.NoError(t, err)
			require.NoError(t, sc.SetEdition(f.Edition.String()))
			mu, ok := mutant.ByName(f.Mutant)
			require.True(t, ok, f.Mutant)
			find := func(name string, runs uint64) *harness.Result {
				res, err := harness.Explore(harness.Spec{Scenario: sc, Mutant: name, Runs: runs, Workers: 1, Stop: name != "", Blind: true})
				require.NoError(t, err)
				return res
			}
			require.Empty(t, find("", 400/slow).Broken)
			alone := find(f.Mutant, most)
			for got := range alone.Broken {
				require.True(t, got == f.Property || slices.Contains(mu.Also, got), "noticed by %s, not by %s", got, f.Property)
			}
			require.NotZero(t, alone.Violations, "%d runs have not found it", alone.Runs)
			require.NotZero(t, find(mutant.AsShipped, most).Violations)
			t.Logf("found in run %d", alone.Runs)
		})
	}
	for e := range kprobes.Editions {
		has := slices.ContainsFunc(mutant.Shipped, func(f mutant.Fault) bool { return f.Edition == e })
		require.Equal(t, has, mutant.CheckShipped(e) == nil, "%v", e)
	}
}

// TestEveryPropertyHasAMutant: a property that no mutant breaks is decoration,
// or its mutants are still to be written. Those are listed, so that the list
// can't grow unnoticed.
func TestEveryPropertyHasAMutant(t *testing.T) {
	var waiting []string
	for _, p := range properties.All {
		has := slices.ContainsFunc(mutant.All, func(mu mutant.Mutant) bool { return mu.Property == p.Name })
		require.Equal(t, !slices.Contains(waiting, p.Name), has, "%s: has a mutant: %v", p.Name, has)
	}
}

// TestEquivalentOnKprobes: on a kprobe point these mutants of text_poke_bp are
// no mutants, as their comment says. On a raw site TestMutants kills them.
func TestEquivalentOnKprobes(t *testing.T) {
	sc, err := scenario.LoadBuiltin("torn-jump-bp") // a probe, and the worst of fetches
	require.NoError(t, err)
	for _, name := range []string{"no-sync-1", "no-sync-3"} {
		res, err := harness.Explore(harness.Spec{Scenario: sc, Mutant: name, Runs: 40_000 / slow})
		require.NoError(t, err)
		require.NotZero(t, res.Counts.Points)
		require.Empty(t, res.Broken, name)
	}
}
