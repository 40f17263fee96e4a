package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
)

// shares explores a scenario in n shares and hands back the files.
func shares(t *testing.T, name string, n int, spec explore.Spec) (files [][]byte) {
	t.Helper()
	sc, err := library.Load(name)
	require.NoError(t, err)
	rig, err := rig.New(sc, spec.Mutant)
	require.NoError(t, err)
	defer rig.Close()
	digest := rig.Run(new(sched.Default)).Digest
	for i := 1; i <= n; i++ {
		spec.Scenario, spec.Share, spec.Shares = sc, i, n
		res, err := explore.Run(spec)
		require.NoError(t, err)
		r := File{Share: i, Shares: n, Strategy: explore.DefaultStrategy, Seed: spec.Seed, Mutant: spec.Mutant,
			Scenarios: []*Explored{{
				Name: name, Arg: name, Text: lang.Print(sc), Default: DigestName(digest), Runs: spec.Runs,
				Parts: res.Parts,
			}}}
		data, err := r.Marshal()
		require.NoError(t, err)
		files = append(files, data)
	}
	return files
}

func join(t *testing.T, files [][]byte) (*File, error) {
	t.Helper()
	var names []string
	var list []*File
	for i, f := range files {
		r, err := Read(fmt.Sprintf("%d.json", i+1), f)
		if err != nil {
			return nil, err
		}
		names, list = append(names, fmt.Sprintf("%d.json", i+1)), append(list, r)
	}
	all, _, err := Join(names, list)
	return all, err
}

// TestSharesAddUp: an exploration in shares, written, read, and put together in
// any order, is the exploration as a whole: each count, each statistic, and the
// witness to the byte.
func TestSharesAddUp(t *testing.T) {
	for _, c := range []struct {
		name, mutant string
		shares       int
	}{
		{"second-instruction", "", 2}, {"jump-label-flip", "no-sync-1", 5}, {"torn-jump", "", 16}, {"safe-full", "", 3},
	} {
		if searchtest.Slow > 1 && c.shares == 16 {
			continue // each shrinks what it finds
		}
		spec := explore.Spec{Runs: thorough.Of[uint64](1_000, 3_000) / searchtest.Slow, Seed: 3, Mutant: c.mutant}
		files := shares(t, c.name, c.shares, spec)
		files[0], files[1] = files[1], files[0]
		all, err := join(t, files)
		require.NoError(t, err)
		again, _, err := all.Spec(all.Scenarios[0])
		require.NoError(t, err)
		got, err := explore.Merge(again, all.Scenarios[0].Parts)
		require.NoError(t, err)

		spec.Scenario = again.Scenario
		want, err := explore.Run(spec)
		require.NoError(t, err)
		require.Equal(t, len(want.Witnesses), len(got.Witnesses))
		for i, w := range want.Witnesses {
			require.Equal(t, string(w.File.Marshal()), string(got.Witnesses[i].File.Marshal()))
		}
		strip := func(r *explore.Result) explore.Result {
			q := *r
			q.Witness, q.Witnesses = nil, nil
			return q
		}
		require.Equal(t, strip(want), strip(got))
	}
}

// TestDamagedResults: no bit of a result file can be changed, and no end of it cut
// off, without its being noticed, in one line.
func TestDamagedResults(t *testing.T) {
	file := shares(t, "torn-jump", 1, explore.Spec{Runs: 200, Seed: 1})[0]
	_, err := Read("x", file)
	require.NoError(t, err)
	wrong := func(data []byte) {
		t.Helper()
		_, err := Read("x.json", data)
		require.Error(t, err)
		require.True(t, strings.HasPrefix(err.Error(), "x.json: "), err)
		require.NotContains(t, err.Error(), "\n")
	}
	var r sim.Rand
	r.Seed(1, 2)
	for range 500 {
		bad := bytes.Clone(file)
		bad[r.N(len(bad))] ^= 1 << r.N(8)
		wrong(bad)
		wrong(file[:r.N(len(file))])
	}
	wrong(append(bytes.Clone(file), '\n'))
	wrong(append(bytes.Clone(file), file...))
	wrong(nil)
}

// TestForeignResults: files that are whole, and aren't what this program made.
func TestForeignResults(t *testing.T) {
	file := shares(t, "torn-jump", 1, explore.Spec{Runs: 200, Seed: 1})[0]
	lines := strings.SplitAfter(string(file), "\n")
	for _, c := range []struct{ was, is, want string }{
		{`"kpsim_results":3,`, `"kpsim_results":1,`, "result format 1, and this kpsim reads 3"},
		{`"schedule_format":`, `"schedule_format":9`, "and this kpsim makes"},
		{`"shard":1,`, `"shard":2,`, "shard 2 of 1"},
		{`"scenarios":1,`, `"scenarios":2,`, "1 scenarios, where 2 were explored"},
		{`"default_digest":"`, `"default_digest":"0`, "made by another version of kpsim"},
		{`"text":"scenario(`, `"text":"scnario(`, "scnario isn't defined"},
		{`"property":"whole-instructions"`, `"property":"half-instructions"`,
			`no property is called "half-instructions"`},
		{`"index":3,`, `"index":4,`, "part 3 of the exploration is missing"},
		{`"choices":[[`, `"choices":[[0,0,9,2,1],[`, "no choice is [0 0 9 2 1]"},
	} {
		body := strings.Join(lines[:2], "")
		edited := strings.Replace(body, c.was, c.is, 1)
		require.NotEqual(t, body, edited, c.was)
		all, err := join(t, [][]byte{[]byte(edited + fmt.Sprintf("{\"sha256\":%q}\n", sumOf([]byte(edited))))})
		var spec explore.Spec
		if err == nil {
			spec, _, err = all.Spec(all.Scenarios[0])
		}
		if err == nil {
			_, err = explore.Merge(spec, all.Scenarios[0].Parts)
		}
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestJoinAddsUp: a canary that one share has found is found, and what each has
// played again counts.
func TestJoinAddsUp(t *testing.T) {
	for _, canary := range [][]bool{{true, false}, {false, true}, {false, false}} {
		var list []*File
		for i, found := range canary {
			list = append(list, &File{Share: i + 1, Shares: 2, Scenarios: []*Explored{{
				Name: "a", Canary: found, Checked: uint64(3 + i), Seconds: float64(9 - i),
			}}})
		}
		all, _, err := Join([]string{"1", "2"}, list)
		require.NoError(t, err)
		e := all.Scenarios[0]
		require.Equal(t, canary[0] || canary[1], e.Canary)
		require.EqualValues(t, 7, e.Checked)
		require.EqualValues(t, 9, e.Seconds)
	}
}
