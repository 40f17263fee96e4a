package small_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/small"
	"kpsim/internal/testkit/thorough"
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

// The right engine gives what the reference says, in each edition. A probe goes with its module in three calls.
func TestRight(t *testing.T) {
	for _, edition := range append([]string{""}, rules.EditionNames()...) {
		calls := thorough.Of(2, 3)
		if edition == "" {
			calls = 3
		}
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

// Mutants that need no schedule are found.
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
