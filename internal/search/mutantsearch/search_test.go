package mutantsearch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/kprobes/mutants"
)

// TestHunt: what is found depends on the seed, and not on the workers; a search
// that is too short is survived, and said to be.
func TestHunt(t *testing.T) {
	mu, ok := mutants.ByName("no-sync-3")
	require.True(t, ok)
	h := Search{Seeds: 6, Seed: 1, Most: 300, Workers: 1}
	one, err := h.Kill(mu)
	require.NoError(t, err)
	require.Empty(t, one.Fault())
	require.Equal(t, map[string]int{mu.Property: 6}, one.By)
	require.Equal(t, mu.Property, one.Witness.Property.Name)
	require.True(t, one.Within(300))
	require.False(t, one.Within(1))

	h.Workers = 3
	three, err := h.Kill(mu)
	require.NoError(t, err)
	require.Equal(t, one.First, three.First)
	require.Equal(t, one.Witness.Digest, three.Witness.Digest)

	h.Most, h.Blind = 1, true
	none, err := h.Kill(mu)
	require.NoError(t, err)
	require.Positive(t, none.Survived())
	require.Contains(t, none.Fault(), "isn't marked equivalent")
	require.False(t, none.Within(300))
	require.Nil(t, none.Witness)
}

// TestFault: what is right of a row, and each way in which it can be wrong.
func TestFault(t *testing.T) {
	found := []uint64{1, 2, 3}
	killed := explore.First{Seeds: 3, Bound: 9, Found: found}
	lived := explore.First{Seeds: 3, Bound: 9, Found: []uint64{}}
	named := &mutants.Mutant{Property: "locks", Also: []string{"progress"}}
	same := &mutants.Mutant{Property: "locks", Equivalent: &mutants.Equivalent{Proof: "it is"}}
	certain := &mutants.Mutant{Property: "locks", Equivalent: &mutants.Equivalent{Proof: "it is", Certificate: true}}
	for _, c := range []struct {
		k    Kill
		want string
	}{
		{Kill{Mutant: named, First: killed, By: map[string]int{"locks": 3}}, ""},
		{Kill{Mutant: named, First: killed, By: map[string]int{"locks": 1, "progress": 2}}, ""},
		{Kill{Mutant: named, First: killed, By: map[string]int{"progress": 3}}, "locks never notices first"},
		{Kill{Mutant: named, First: killed, By: map[string]int{"locks": 2, "no-oops": 1}}, "no-oops notices"},
		{Kill{Mutant: named, First: explore.First{Seeds: 4, Bound: 9, Found: found}, By: map[string]int{"locks": 3}},
			"1 of 4 searches"},
		{Kill{Mutant: named, First: lived}, "3 of 3 searches"},
		{Kill{Mutant: same, First: lived}, ""},
		{Kill{Mutant: same, First: killed, By: map[string]int{"locks": 3}}, "marked equivalent, and locks notices"},
		{Kill{Mutant: certain, First: lived}, "no certificate"},
		{Kill{Mutant: certain, First: lived, Proof: &proof.Verified{Complete: true}}, ""},
		{Kill{Mutant: certain, First: lived, Proof: &proof.Verified{}}, "isn't complete"},
		{Kill{Mutant: certain, First: lived, Proof: &proof.Verified{Complete: true, Cut: 2}}, "budget"},
		{Kill{Mutant: certain, First: lived, Proof: &proof.Verified{Violations: 1}}, "is killed"},
	} {
		if c.want == "" {
			require.Empty(t, c.k.Fault())
		} else {
			require.Contains(t, c.k.Fault(), c.want)
		}
	}
}
