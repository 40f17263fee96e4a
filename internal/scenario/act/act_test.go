package act_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// TestRows: the fields of each row agree with each other.
func TestRows(t *testing.T) {
	words, nth := map[string]bool{}, map[int]bool{}
	for _, k := range act.All() {
		has := func(trait scenario.Traits) bool { return k.Traits&trait != 0 }
		require.False(t, words[k.Word], k.Word)
		words[k.Word] = true
		require.Same(t, k, act.Named(k.Word))
		require.NotEmpty(t, k.Says, k.Word)
		require.True(t, k.Setting == "" && k.Of == nil && k.Switches == nil || k.What != "",
			"%s: what is it called where it isn't had?", k.Word)
		require.Equal(t, k.Touches&(scenario.TouchAPI|scenario.TouchRead) != 0 && k.Params != nil ||
			k.Has(scenario.ParamCount), k.Takes(scenario.TheProbes), k.Word)
		if k.Touches&scenario.TouchAPI != 0 || k.Switches != nil {
			require.True(t, has(scenario.Probes) && has(scenario.SetsUp) && has(scenario.Serial) && has(scenario.Stirs),
				"%s: a call to the engine", k.Word)
		}
		if has(scenario.Waits) {
			require.True(t, has(scenario.Ordered) && !has(scenario.Serial) && !has(scenario.SetsUp),
				"%s: a task alone would wait for ever", k.Word)
		}
		if has(scenario.Stirs) {
			require.True(t, has(scenario.Serial), k.Word)
		}
		if has(scenario.Live) || has(scenario.Direct) {
			require.True(t, has(scenario.Sited), k.Word)
		}
		d := k.Drawn
		require.Equal(t, d.Nth > 0, d.Times > 0, k.Word)
		require.False(t, d.Nth > 0 && nth[d.Nth], "%s: another one has its place in the list that is drawn from",
			k.Word)
		nth[d.Nth] = true
		if d.Or != "" {
			other := act.Named(d.Or)
			require.NotNil(t, other, k.Word)
			require.Equal(t, k.Params, other.Params, k.Word)
		}
	}
	require.Greater(t, len(words), 30)
}
