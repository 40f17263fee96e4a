package harness

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/scenario"
)

func TestX(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		res, err := Explore(Spec{Scenario: sc, Runs: quick(sc, 15_000), Seed: 1})
		require.NoError(t, err)
		st := res.Stats
		t.Logf("%s sampled %d behav %d new %v unseen %v", sc.Name, st.Sampled, st.Behaviours, st.New, st.Unseen)
		for _, s := range st.Sources {
			t.Logf("  %s %d of %d, never %.300v", s.Source, s.Fired, s.Visited, s.Never)
		}
		var can []string
		for _, k := range reachable(sc) {
			can = append(can, k.String())
		}
		for _, k := range st.Seen {
			if !slices.Contains(can, k) {
				t.Errorf("%s: %s was seen", sc.Name, k)
			}
		}
	}
}
