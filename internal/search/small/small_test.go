package small_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/small"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
)

// search runs the programs of up to so many calls. It returns nil if there is nothing to search.
func search(t testing.TB, s *small.Search, calls int) *small.Result {
	t.Helper()
	more, err := s.Begin()
	require.NoError(t, err)
	if !more {
		return nil
	}
	for n := 1; more && n <= calls; n++ {
		more, err = s.Next()
		require.NoError(t, err)
	}
	return s.Result()
}

// fewest programs are sure to be run of each world.
const fewest = 100

// editions are all; "" is what a world has.
var editions = append([]string{""}, rules.EditionNames()...)

// The right engine gives what the reference says, in each edition.
func TestRight(t *testing.T) {
	calls := thorough.Of(2, 3)
	for _, edition := range editions {
		for _, world := range small.Names() {
			for _, settled := range []bool{true, false} {
				t.Run(edition+"/"+world, func(t *testing.T) {
					sc, err := small.Load(world, edition)
					require.NoError(t, err)
					r := search(t, &small.Search{Scenario: sc, Settled: settled}, calls)
					if r == nil { // without an optimizer
						require.True(t, settled)
						return
					}
					for _, f := range r.Finds {
						t.Errorf("%s after %s: %s: %v (%d)", f.What, f.After, f.Says, f.Calls, f.Programs)
					}
					require.Equal(t, calls, r.Complete())
					require.Greater(t, r.Levels[1].Run, uint64(fewest))
				})
			}
		}
	}
}

// Each mutant that breaks a rule without a schedule is found. These are the kinds of fault that
// kernels had; the table of all is in docs/small.md.
func TestMutants(t *testing.T) {
	if os.Getenv("KPSIM_SMALL_ALL") == "" {
		t.Skip()
	}
	found := 0
	for _, m := range mutants.All {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Logf("%s panics: %v", m.Name, p)
				}
			}()
			for _, edition := range []string{"", "2.6", "4.15", "6.5"} {
				calls := 2
				if edition == "" {
					calls = 3
				}
				for _, world := range small.Names() {
					for _, settled := range []bool{true, false} {
						sc, err := small.Load(world, edition)
						require.NoError(t, err)
						s := small.Search{Scenario: sc, Settled: settled, Mutant: m.Name}
						more, err := s.Begin()
						if err != nil {
							t.Fatal(err)
						}
						r := s.Result()
						for n := 1; more && n <= calls && len(r.Finds) == 0; n++ {
							if more, err = s.Next(); err != nil {
								t.Logf("%s %s %s: %v", m.Name, edition, world, err)
								break
							}
						}
						if r != nil && len(r.Finds) > 0 {
							f := r.Finds[0]
							found++
							t.Logf("%s: FOUND %s %s %v: %s after %s: %s %v", m.Name, edition, world, settled, f.What, f.After, f.Says, f.Calls)
							return
						}
					}
				}
			}
			t.Logf("%s: not found (%s, %s)", m.Name, m.Property, m.Scenario)
		}()
	}
	t.Logf("%d of %d", found, len(mutants.All))
}
