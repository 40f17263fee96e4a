package small_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/small"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
)

// run runs a session to its end.
func run(t testing.TB, s *small.Session) []*small.Result {
	t.Helper()
	programs, err := s.Begin()
	require.NoError(t, err)
	require.Positive(t, programs)
	require.NoError(t, s.Run())
	return s.Results()
}

// The right engine gives what the reference says, in each edition.
func TestRight(t *testing.T) {
	calls := thorough.Of(2, 3)
	for _, edition := range append([]string{""}, rules.EditionNames()...) {
		t.Run(edition, func(t *testing.T) {
			ran := uint64(0)
			for _, r := range run(t, &small.Session{Edition: edition, Calls: calls}) {
				for _, f := range r.Finds {
					t.Errorf("%s: %s in %s: %s: %v (%d)", r.World, f.What, f.After, f.Says, f.Calls, f.Programs)
				}
				require.Equal(t, calls, r.Complete())
				ran += r.Levels[1].Run
			}
			require.Greater(t, ran, uint64(300))
		})
	}
}

// needNone are mutants that a few calls of one task show: the kinds of fault that kernels had. The
// world is the one that shows them, and the program the shortest.
var needNone = map[string]struct {
	world   string
	program []string
}{
	"jump-hidden":     {"jump", []string{"register(b)", "register_all(a, c)"}},
	"module-put-lost": {"module", nil},
	"ftrace-by-post":  {"site", nil},
	"optimize-post":   {"jump", nil},
	"list-bare":       {"jump", []string{"register(d)"}},
	"enable-lost":     {"site", []string{"register(d)", "enabled(False)", "enable(d)"}},
}

// Mutants that need no schedule are found. docs/small.md has the table of all.
func TestMutants(t *testing.T) {
	for name, want := range needNone {
		t.Run(name, func(t *testing.T) {
			var first *small.Find
			for calls := 1; calls <= 3 && first == nil; calls++ {
				for _, r := range run(t, &small.Session{Worlds: []string{want.world}, Mutant: name, Calls: calls}) {
					if len(r.Finds) > 0 && first == nil {
						first = r.Finds[0]
					}
				}
			}
			require.NotNil(t, first)
			if want.program != nil {
				require.Equal(t, want.program, first.Calls)
			}
		})
	}
}

// TestAllMutants prints which mutants are found by programs of how many calls. KPSIM_SMALL_ALL is
// the most calls.
func TestAllMutants(t *testing.T) {
	most, err := strconv.Atoi(os.Getenv("KPSIM_SMALL_ALL"))
	if err != nil {
		t.Skip("it takes minutes; KPSIM_SMALL_ALL=3 runs it")
	}
	found := 0
	for _, m := range mutants.All {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Logf("%s panics: %v", m.Name, p)
				}
			}()
			for _, edition := range []string{"", "2.6", "4.15", "5.14"} {
				for calls := 1; calls <= most; calls++ {
					if edition != "" && calls > 2 {
						break
					}
					s := &small.Session{Mutant: m.Name, Calls: calls, Edition: edition}
					if _, err := s.Begin(); err != nil {
						t.Logf("%s: %v", m.Name, err)
						continue
					}
					if err := s.Run(); err != nil {
						t.Logf("%s: %v", m.Name, err)
						continue
					}
					for _, r := range s.Results() {
						if len(r.Finds) > 0 {
							f := r.Finds[0]
							found++
							t.Logf("FOUND %s: %d calls, edition %q, world %s: %s in %s: %v: %s", m.Name, len(f.Calls),
								edition, r.World, f.What, f.After, f.Calls, f.Says)
							return
						}
					}
				}
			}
			t.Logf("NOT %s (%s, %s)", m.Name, m.Property, m.Scenario)
		}()
	}
	t.Logf("%d of %d", found, len(mutants.All))
}
