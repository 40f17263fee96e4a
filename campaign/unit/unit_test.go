package unit

import (
	"encoding/json"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/plan"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// search plans an exploration whose shards are units of their own.
func search(t *testing.T, runs uint64, names ...string) *plan.Campaign {
	f := &findings.Explore{Scenarios: names, Runs: &runs, Seed: 1, Strategy: "portfolio", Traces: t.TempDir()}
	s, err := plan.Explore(cli.New(io.Discard, io.Discard), f)
	require.NoError(t, err)
	for i := range s.Bundle {
		s.Bundle[i] = 5
	}
	return &plan.Campaign{ID: "c-1", Searches: []*plan.Search{s}}
}

// kept is a Source that has what was made.
type kept map[string][]byte

func (k kept) Parts(u *plan.Unit) (parts []explore.Part, err error) {
	for key, data := range k {
		var list []explore.Part
		runs := *u
		if runs.Kind = plan.Runs; u.From != plan.All && key != runs.Key() {
			continue
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
		parts = append(parts, list...)
	}
	return explore.InOrder(parts), nil
}

func (k kept) Island(campaign string, search, round, number int) ([]byte, error) { return nil, nil }

// A unit's data is the same whatever its bench has made before; merged they are the exploration.
func TestSameBytes(t *testing.T) {
	c := search(t, 900, "torn-jump", "second-instruction")
	s := c.Searches[0]
	var stop atomic.Bool
	used := &Maker{}
	defer used.Close()
	for job := range s.Scenarios {
		made := kept{}
		for n := s.Units(job) - 1; n >= 0; n-- {
			u := s.Unit(c.ID, 0, job, plan.Runs, n)
			fresh := &Maker{}
			a, err := fresh.Do(c, &u, made, &stop)
			require.NoError(t, err)
			fresh.Close()
			b, err := used.Do(c, &u, made, &stop)
			require.NoError(t, err)
			require.Equal(t, string(a.Data), string(b.Data))
			require.Positive(t, a.Summary.Runs)
			made[u.Key()] = b.Data
		}
		all := plan.Unit{Campaign: c.ID, Job: job, Kind: plan.Witness, From: plan.All, To: plan.All}
		parts, err := made.Parts(&all)
		require.NoError(t, err)
		spec, err := s.Spec(job)
		require.NoError(t, err)
		want, err := explore.Run(spec)
		require.NoError(t, err)
		got, err := explore.Merge(spec, parts)
		require.NoError(t, err)
		require.Equal(t, want.Violations, got.Violations)
		require.Equal(t, want.Stats, got.Stats)
		require.Equal(t, want.Witness.File.Marshal(), got.Witness.File.Marshal())

		w, err := used.Do(c, &all, made, &stop)
		require.NoError(t, err)
		require.Len(t, w.Summary.Finds, len(got.Witnesses))
		var finds []Find
		require.NoError(t, json.Unmarshal(w.Data, &finds))
		require.NotEmpty(t, finds[0].Story)
		require.Contains(t, finds[0].Trace, "kpsim")
		require.Empty(t, w.Summary.Finds[0].Trace)
	}
}

// What isn't a unit of the campaign is an error; what is stopped has no result.
func TestNoUnit(t *testing.T) {
	c := search(t, 900, "torn-jump")
	b := &Maker{}
	defer b.Close()
	var stop atomic.Bool
	for _, u := range []plan.Unit{
		{Search: 1, Kind: plan.Runs, To: 1}, {Search: -1, Kind: plan.Runs, To: 1}, {Job: 1, Kind: plan.Runs, To: 1},
		{Kind: plan.Runs, From: 3, To: 3},
		{Kind: plan.Runs, From: 0, To: 17}, {Kind: plan.Runs, From: -1, To: 1}, {Kind: "x"}, {Kind: plan.Island},
		{Kind: plan.Proof},
	} {
		_, err := b.Do(c, &u, kept{}, &stop)
		require.Error(t, err, u.Key())
		require.NotErrorIs(t, err, ErrStopped)
	}
	stop.Store(true)
	u := c.Searches[0].Unit(c.ID, 0, 0, plan.Runs, 0)
	_, err := b.Do(c, &u, kept{}, &stop)
	require.ErrorIs(t, err, ErrStopped)
}

// A build that makes other runs is told by the default run.
func TestOtherBuild(t *testing.T) {
	c := search(t, 900, "torn-jump")
	c.Searches[0].Scenarios[0].Default = "0123456789abcdef"
	b := &Maker{}
	var stop atomic.Bool
	u := c.Searches[0].Unit(c.ID, 0, 0, plan.Runs, 0)
	_, err := b.Do(c, &u, kept{}, &stop)
	require.ErrorContains(t, err, "made by another version of kpsim")
}

// A panic is an error, with where it was.
func TestCrash(t *testing.T) {
	c := search(t, 900, "torn-jump")
	c.Searches[0].Points = nil // Shards panics
	b := &Maker{}
	var stop atomic.Bool
	_, err := b.Do(c, &plan.Unit{Kind: plan.Runs, To: 1}, kept{}, &stop)
	var crash *parallel.Crash
	require.ErrorAs(t, err, &crash)
	require.NotEmpty(t, crash.Stack)
}
