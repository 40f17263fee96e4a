package harness

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/scenario"
	"kpsim/sched"
)

// TestShrinkBudget: with fewer questions than it takes, shrinking ends with a
// larger witness that is one all the same, and the run that asks too much is the last.
func TestShrinkBudget(t *testing.T) {
	sc, err := scenario.LoadBuiltin("second-instruction")
	require.NoError(t, err)
	spec := &Spec{Scenario: sc, Strategy: "random"}
	rig, err := New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	strategy, err := sched.New("random", sched.Params{Shards: 1})
	require.NoError(t, err)
	rec := &sched.Recorder{Strategy: strategy}
	var c *candidate
	for i := uint64(0); c == nil; i++ {
		require.True(t, i < 100_000 && rec.Begin(i))
		run := rig.Run(rec)
		rec.End(run.Counts.Points)
		if run.Property != nil {
			c = &candidate{number: i, run: run, choices: slices.Clone(rec.Recording().Choices), asked: rec.Recording().Asked}
		}
	}

	least := len(c.choices) + 1
	for _, budget := range []int64{0, 1, 1000, shrinkQuestions} {
		e := &effort{runs: shrinkRuns, questions: budget}
		w, err := shrink(spec, c, e)
		require.NoError(t, err)
		require.Equal(t, c.run.Property, w.Property)
		require.LessOrEqual(t, len(w.Schedule), least)
		least = len(w.Schedule)
		if budget == 0 {
			require.Len(t, w.Schedule, len(c.choices))
			require.Equal(t, 1, e.spent, "the run is made once, to know it")
		}
	}
	require.Less(t, least, len(c.choices)/4)

	// The run in which the questions run out is the last one, wherever that is: one
	// question more than were asked until then is worth one run more.
	for from := int64(1000); from < 40_000; from += 7000 * min(slow, 3) {
		budget, spent := from, 0
		for range 12 {
			e := &effort{runs: shrinkRuns, questions: budget}
			_, err := shrink(spec, c, e)
			require.NoError(t, err)
			if spent > 0 {
				require.Equal(t, spent+1, e.spent, "%d questions", budget)
			}
			spent, budget = e.spent, budget-e.questions+1
		}
	}
}

// shrink makes the witness of one candidate.
func shrink(spec *Spec, c *candidate, e *effort) (*Witness, error) {
	s, err := newShrinker(spec, c, e)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.finish()
	return s.witness(spec, c), nil
}
