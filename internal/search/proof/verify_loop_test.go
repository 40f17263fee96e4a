package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
)

// TestVerifyOldForever: a CPU that is alone, and goes round in a loop whose old bytes it may fetch each time, is asked
// nothing but that: the loop is reported, and the search ends. (A loop that did end would leave it incomplete: more
// circles than runs whose budget was spent.)
func TestVerifyOldForever(t *testing.T) {
	sc, err := lang.Load("loop.star", []byte(`machine(cpus = 2, fetch = "stale", steps = 20000)
f = text("f", "ebfe 9090909090 c3")
task("patcher", cpu = 0, ops = [write(f, "9090", by = 2)])
task("thread", cpu = 1, ops = [call(f, changed = True)])
`), nil)
	require.NoError(t, err)
	v, err := Verify(Proof{Spec: explore.Spec{Scenario: sc, Runs: 5000}, Full: true, All: true})
	require.NoError(t, err)
	require.NotZero(t, v.Broken["progress"], "%+v", v)
	require.NotZero(t, v.Circles, "%+v", v)
	require.True(t, v.Complete, "%+v", v)
	require.Less(t, v.Runs, uint64(5000))
}
