package mutantsearch

import (
	"flag"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sim"
)

// most bounds the schedules of one search.
const most = 100_000

// drawn is how many mutants are searched for by TestMutants.
const drawn = 5

var every = flag.Bool("every", false, "search for every mutant, not for five drawn by the date")

// TestMutants: five mutants, other ones each day, are killed in each of 20
// searches, by the property that must notice. All of them are replayed from
// traces/corpus by TestCorpus, in internal/search, and searched for by kpsim mutants, whose
// page says of the five what is found here.
// Whether the right engine passes in the same scenario is TestBuiltin's business,
// in internal/search.
func TestMutants(t *testing.T) {
	var list []*mutants.Mutant
	for i := range mutants.All {
		if mutants.All[i].Equivalent == nil {
			list = append(list, &mutants.All[i])
		}
	}
	if !*every {
		day := time.Now().UTC().Format(time.DateOnly)
		t.Logf("drawn by %s; -every searches for all %d", day, len(list))
		sum := fnv.New64a()
		sum.Write([]byte(day))
		var r sim.Rand
		r.Seed(sum.Sum64(), 0)
		for i := range drawn {
			k := i + r.N(len(list)-i)
			list[i], list[k] = list[k], list[i]
		}
		list = list[:drawn]
	}
	rows := page(t)
	h := Search{Seeds: max(20/slow, 2), Seed: 1, Most: most, Workers: 1, Blind: true}
	for _, mu := range list {
		t.Run(mu.Name, func(t *testing.T) {
			t.Parallel()
			k, err := h.Kill(mu)
			require.NoError(t, err)
			fault := k.Fault()
			if slow > 1 && k.By[mu.Property] == 0 {
				fault = "" // so few searches may all be others' first
			}
			require.Empty(t, fault, "%v", k.By)
			if slow == 1 {
				requireOnPage(t, rows, k)
			}
			median, low, high := k.First.Median()
			t.Logf("%-24s %-24s %-20s %d schedules in the median (%d to %d)", mu.Name, mu.Scenario, mu.Property, median,
				low, high)
		})
	}
}

// TestShipped: an edition's own faults are found, each alone in the scenario that
// is given for it, and all together in the same; on the repaired algorithm that
// edition passes there.
func TestShipped(t *testing.T) {
	for i := range mutants.Shipped() {
		f := &mutants.Shipped()[i]
		t.Run(f.Edition.String()+"/"+f.Mutant, func(t *testing.T) {
			t.Parallel()
			sc, err := library.Load(f.Scenario)
			require.NoError(t, err)
			require.NoError(t, sc.SetEdition(f.Edition.String()))
			sc.Machine.NMILatch = true // 2.6 has none: a fault by itself, nmi-unlatched
			mu, ok := mutants.ByName(f.Mutant)
			require.True(t, ok, f.Mutant)
			find := func(name string, runs uint64) *explore.Result {
				res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: name, Runs: runs, Workers: 1,
					Stop: name != "", Blind: true})
				require.NoError(t, err)
				return res
			}
			require.Empty(t, find("", thorough.Of[uint64](100, 400)/slow).Broken)
			alone := find(f.Mutant, most)
			for got := range alone.Broken {
				require.True(t, got == f.Property || slices.Contains(mu.Also, got), "noticed by %s, not by %s", got,
					f.Property)
			}
			require.NotZero(t, alone.Violations, "%d runs have not found it", alone.Runs)
			require.NotZero(t, find(mutants.AsShipped, most).Violations)
			t.Logf("found in run %d", alone.Runs)
		})
	}
	for _, e := range rules.AllEditions() {
		has := slices.ContainsFunc(mutants.Shipped(), func(f mutants.ShippedMutant) bool { return f.Edition == e })
		require.Equal(t, has, mutants.CheckShipped(e) == nil, "%v", e)
	}
}

// TestEveryPropertyHasAMutant: a property that no mutant breaks is decoration,
// or its mutants are still to be written. Those are listed, so that the list
// can't grow unnoticed.
func TestEveryPropertyHasAMutant(t *testing.T) {
	var waiting []string
	for _, p := range properties.All {
		if p.OfKernel() {
			continue // mutants are of the engine in Go
		}
		has := slices.ContainsFunc(mutants.All, func(mu mutants.Mutant) bool {
			return mu.Property == p.Name && mu.Equivalent == nil
		})
		require.Equal(t, !slices.Contains(waiting, p.Name), has, "%s: has a mutant: %v", p.Name, has)
	}
}

// TestEquivalent: what is marked equivalent isn't noticed, and there are no more of
// those than there may be. kpsim mutants asks for the certificates, too.
func TestEquivalent(t *testing.T) {
	marked := 0
	for i := range mutants.All {
		mu := &mutants.All[i]
		if mu.Equivalent == nil {
			continue
		}
		marked++
		require.NotEmpty(t, mu.Equivalent.Proof, mu.Name)
		sc, err := library.Load(mu.Scenario)
		require.NoError(t, err)
		res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: mu.Name,
			Runs: thorough.Of[uint64](1_500, 6_000) / slow})
		require.NoError(t, err)
		require.NotZero(t, res.Counts.Points)
		require.Empty(t, res.Broken, mu.Name)
	}
	require.LessOrEqual(t, marked, mutants.MostEquivalent)
}
