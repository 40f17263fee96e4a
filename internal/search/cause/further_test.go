package cause

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/thorough"
)

// TestFurther: a property that a program breaks for two reasons has a witness of each: in one
// program a detour is freed while a CPU stands in it, and while an IPI will return to it; in the
// other tasks wait in a circle, and a loop never ends. It's the same for any number of workers,
// and for shares that are added up.
func TestFurther(t *testing.T) {
	for name, runs := range map[string]uint64{"stop-machine-free": 16_000, "never-schedules-tasks": 2_000} {
		if runs > 2000 && !thorough.Set() {
			continue
		}
		sc, err := library.Load(name)
		require.NoError(t, err)
		spec := explore.Spec{Scenario: sc, Runs: runs, Seed: 1, Workers: 1}
		res, err := explore.Run(spec)
		require.NoError(t, err)
		list, err := FurtherOf(spec, res)
		require.NoError(t, err)
		require.NotEmpty(t, list, name)

		main, err := Of(res.Witness, name)
		require.NoError(t, err)
		keys := []string{main.Key()}
		for _, f := range list {
			require.NotContains(t, keys, f.Key(), name)
			keys = append(keys, f.Key())
			require.Equal(t, res.Witness.Property, f.Witness.Property)
			require.NotEqual(t, res.Witness.Digest, f.Witness.Digest)
			require.Positive(t, f.Runs)
			require.Less(t, f.Runs, res.Broken[f.Property])
			r, err := replay.Play(name, f.Witness.File, false)
			require.NoError(t, err)
			require.Equal(t, f.Witness.Digest, r.Digest)
			require.Equal(t, f.Property, r.Property.Name)
			require.Equal(t, f.Message, r.Rig.Plain(r.Finding.Message))
			r.Rig.Close()
		}

		sum := uint64(0)
		for _, w := range res.Readings(main.Property) {
			sum += w.Runs
		}
		require.Equal(t, res.Broken[main.Property], sum, "each run has one way")

		spec.Workers = 5
		other, err := explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, res.Readings(main.Property), other.Readings(main.Property), name)
		again, err := FurtherOf(spec, other)
		require.NoError(t, err)
		require.Equal(t, list, again, name)

		var parts []explore.Part
		for i := range 3 {
			share := spec
			share.Share, share.Shares = i+1, 3
			of, err := explore.Run(share)
			require.NoError(t, err)
			parts = slices.Concat(parts, of.Parts)
		}
		whole, err := explore.Merge(spec, parts)
		require.NoError(t, err)
		again, err = FurtherOf(spec, whole)
		require.NoError(t, err)
		require.Equal(t, list, again, name)
	}
}
