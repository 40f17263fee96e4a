package findings

import (
	"bytes"
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	tests "kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/sched"
)

var tours = flag.Int("tours", 1,
	"with how many seeds each built-in scenario's race is searched as kpsim explore does without names")

// spoilt has, of each Never of a patcher by hand that has no canary, what makes it break: what is replaced in its
// program, everywhere. Without such a row a Never might be blindness.
var spoilt = map[string][2]string{
	"arm64-isb":                {"d5033fdf", "d503201f"}, // nop
	"arm64-nop-bl":             {"by = 4", "by = 2"},
	"ppc64le-isync":            {"4c00012c", "60000000"}, // nop
	"ppc64le-nop-bl":           {"by = 4", "by = 2"},
	"riscv64-fence-i":          {"0000100f", "00000013"}, // nop
	"riscv64-pair-fixed":       {"at = 0xffffffff81000000", "at = 0xffffffff81000002"},
	"riscv64-pair-unpreempted": {`preempt = "none"`, `preempt = "full"`},
}

// TestSpoilt: a Never without a canary is in the table, and breaks when it is spoilt.
func TestSpoilt(t *testing.T) {
	seen := 0
	for _, sc := range library.All() {
		if sc.Expect.Sometimes || sc.Expect.Canary != "" {
			continue
		}
		seen++
		t.Run(sc.Name, func(t *testing.T) {
			src, err := library.Source(sc.Name)
			require.NoError(t, err)
			with, known := spoilt[sc.Name]
			require.True(t, known, "give it a canary, or a row here")
			require.Contains(t, string(src), with[0])
			src = bytes.ReplaceAll(src, []byte(with[0]), []byte(with[1]))
			bad, err := lang.Load(sc.Name+".star", src, library.Open)
			require.NoError(t, err)
			res, err := explore.Run(explore.Spec{Scenario: bad, Runs: 2000, Seed: 1, Stop: true, Blind: true,
				Workers: 1})
			require.NoError(t, err)
			require.NotZero(t, res.Violations)
		})
	}
	require.Equal(t, len(spoilt), seen)
}

// A tour finds the race that each built-in scenario is about, whatever the seed: the
// canary of a Never, what a Sometimes expects.
func TestTour(t *testing.T) {
	for i, sc := range library.All() {
		if i%6 > 0 && *tours == 1 && !tests.Set() {
			continue // .ci/run explores all of them
		}
		if _, byHand := spoilt[sc.Name]; byHand {
			continue
		}
		r, err := rig.New(sc, "")
		if err != nil {
			t.Fatal(err)
		}
		usual := defaultRuns(r.Run(new(sched.Default)).Counts.Points)
		r.Close()
		runs := tourRuns(usual, library.Effort(sc.Name))
		var firsts []uint64
		for seed := range uint64(*tours) {
			res, err := explore.Run(explore.Spec{
				Scenario: sc, Mutant: sc.Expect.Canary, Runs: runs, Seed: 101 + seed, Stop: true, Blind: true,
				Workers: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.Violations == 0 {
				t.Errorf("%s: seed %d finds nothing in %d schedules", sc.Name, 101+seed, runs)
				continue
			}
			if sc.Expect.Sometimes && res.Broken[sc.Expect.Property] == 0 {
				t.Errorf("%s: seed %d finds %v, not %s", sc.Name, 101+seed, res.Broken, sc.Expect.Property)
			}
			firsts = append(firsts, res.First)
		}
		slices.Sort(firsts)
		if n := len(firsts); n >= 12 {
			t.Logf("%-28s %6d of %6d schedules, found after %6d in the median, %6d at most", sc.Name, runs, usual,
				firsts[n/2], firsts[n-1])
			if firsts[n/2] > 2*library.Effort(sc.Name) { // a median of so few is off by as much
				t.Errorf("%s: its effort is %d; make it %d", sc.Name, library.Effort(sc.Name), firsts[n/2])
			}
		}
	}
}

// TestTourParts: a tour runs small and drawn programs, too, and notices what they break; what is against expectation
// decides its status.
func TestTourParts(t *testing.T) {
	for _, part := range []struct {
		mutant       string
		small, drawn uint64
	}{{"", 1, 20}, {"jump-hidden", 2, 0}, {"no-sync-disarm", 0, 20}}[tests.Of(1, 0):] {
		c := &Explore{Seed: 1, tourParts: tourParts{&part.small, &part.drawn}, Traces: t.TempDir(),
			Broken: inputs.Broken{Mutant: part.mutant}}
		var printed bytes.Buffer
		p := cli.New(&printed, new(bytes.Buffer))
		r := newPrinter(p, c, nil)
		require.NoError(t, c.smallFirst(p, r))
		require.Equal(t, part.small > 0, r.small > 0, part)
		require.NoError(t, c.drawnLast(p, r))
		require.Equal(t, part.drawn, r.drawn)
		require.Equal(t, part.mutant != "", r.found, "%v: %s", part, &printed)
		require.Equal(t, cli.OK, r.status(), "nothing is expected of a mutant")
		c.Mutant = ""
		want := cli.OK
		if r.found {
			want = cli.Against
		}
		require.Equal(t, want, r.status())
	}
	one := uint64(1)
	for _, c := range []*Explore{
		{Scenarios: []string{"torn-jump"}},
		{Runs: &one}, {Fetch: "coherent"}, {shard: shard{1, 2}}, {GoOn: inputs.GoOn{AllProperties: true}},
	} {
		require.Zero(t, c.tourPart(nil, c.plain(), tourDrawn), "%+v", c)
	}
	require.EqualValues(t, tourDrawn, new(Explore).tourPart(nil, new(Explore).plain(), tourDrawn))
	require.EqualValues(t, 1, (&Explore{Runs: &one}).tourPart(&one, false, tourDrawn))
}
