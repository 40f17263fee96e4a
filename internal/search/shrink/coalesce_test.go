package shrink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/testkit/thorough"
	"kpsim/traces"
)

// TestLong: a run of more deviations than a trace may have, for each question was answered at
// random, is told with a few hundred when CPUs do together what they did in turn, and is the
// same violation.
func TestLong(t *testing.T) {
	were, are := 0, 0
	for n, seed := 0, uint64(1); n < thorough.Of(1, 3); seed++ { // one program may be less orderly than others
		require.Less(t, seed, uint64(3000), "too few drawn programs have such a run")
		sc, _ := gen.Of(&gen.Recipe{Seed: seed}, gen.On{})
		o := Origin{Scenario: sc, Mutant: "no-grace", Seed: 1}
		f := violating(t, o, "random", 4)
		if f == nil || len(f.Choices) <= traces.MaxDeviations {
			continue
		}
		n++
		e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
		s, err := newShrinker(o, f, e)
		require.NoError(t, err)
		defer s.close()
		cause := s.cause
		require.True(t, s.coalesce())
		require.LessOrEqual(t, e.spent, coalesceRuns+1)
		t.Logf("%d deviations, %d after %d runs", len(f.Choices), len(s.cur.anchors), e.spent)
		require.Less(t, len(s.cur.anchors), len(f.Choices)/2)
		were, are = were+len(f.Choices), are+len(s.cur.anchors)

		require.True(t, s.try(s.anchored(s.cur.anchors), func(*attempt) bool { return true }), "its labels lead to it")
		require.Equal(t, cause, s.cause)
	}
	require.Less(t, are, were/thorough.Of(3, 4))
}
