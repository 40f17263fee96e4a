package findings

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
)

// roundsOf plans rounds of a session in which a step is left out, that tells in a folder.
func roundsOf(t *testing.T) (*Fuzz, *FuzzRounds) {
	t.Helper()
	c := &Fuzz{Seed: 1, Each: 5, Programs: 40, Corpus: "corpus", Traces: "traces"}
	c.Mutant = "no-sync-disarm"
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir(c.Corpus, 0o700))
	one := gen.Recipe{Seed: 99, Parts: []gen.Part{{Name: "callers", Seed: 4}}}
	require.NoError(t, os.WriteFile(filepath.Join(c.Corpus, "one.recipe"), one.Marshal(), 0o600))
	rounds, err := c.Plan(2, 10)
	require.NoError(t, err)
	require.Equal(t, []string{string(one.Marshal())}, rounds.Start)
	return c, rounds
}

// elsewhere begins the session on another computer.
func elsewhere(t *testing.T, rounds *FuzzRounds) *Fuzz {
	t.Helper()
	plan, err := json.Marshal(rounds)
	require.NoError(t, err)
	var there Fuzz
	var same FuzzRounds
	require.NoError(t, json.Unmarshal(plan, &same))
	require.NoError(t, there.Begin(&same))
	return &there
}

// told is what a session prints and writes, as if no other had made its islands: each comes
// from make, as bytes.
func told(t *testing.T, make func(c *Fuzz, round, number uint64) []byte) (out string, files map[string]string) {
	t.Helper()
	c, _ := roundsOf(t)
	var printed bytes.Buffer
	p := cli.New(&printed, &printed)
	for !c.Done() {
		round, number := c.Folded()
		i, err := fuzz.ReadIsland(make(c, round, number))
		require.NoError(t, err)
		require.NoError(t, c.FoldAndReport(p, i))
	}
	status, err := c.End(p, "")
	require.NoError(t, err)
	require.Equal(t, cli.OK, status, "a mutant is expected to be found")
	p.Flush()
	files = map[string]string{}
	for _, pattern := range []string{"traces/*", "corpus/*"} {
		list, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, list, pattern)
		for _, path := range list {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			files[path] = string(b)
		}
	}
	return printed.String(), files
}

// TestFuzzRounds: what is printed and written is the same if islands are made by the session
// that tells, or by two others that tell nothing.
func TestFuzzRounds(t *testing.T) {
	var made [][]byte
	out, files := told(t, func(c *Fuzz, round, number uint64) []byte {
		i, err := c.Island(cli.New(new(bytes.Buffer), new(bytes.Buffer)), round, number)
		require.NoError(t, err)
		made = append(made, i.Marshal())
		return i.Marshal()
	})
	require.Contains(t, out, "breaks owned-breakpoint: ")
	require.Contains(t, out, "features shown of some")
	require.Contains(t, out, "    40 programs")

	_, rounds := roundsOf(t)
	there := [2]*Fuzz{elsewhere(t, rounds), elsewhere(t, rounds)}
	var theirs [][]byte
	for round := uint64(0); len(theirs) < len(made); round++ {
		for number, one := range there {
			i, err := one.Island(cli.New(new(bytes.Buffer), new(bytes.Buffer)), round, uint64(number))
			require.NoError(t, err)
			require.NoError(t, there[1-number].Check(i))
			theirs = append(theirs, i.Marshal())
		}
		for _, one := range there {
			for _, b := range theirs[len(theirs)-2:] {
				i, err := fuzz.ReadIsland(b)
				require.NoError(t, err)
				require.NoError(t, one.Fold(i))
			}
		}
	}
	require.Equal(t, there[0].Coverage(), there[1].Coverage())
	n := -1
	again, same := told(t, func(*Fuzz, uint64, uint64) []byte { n++; return theirs[n] })
	require.Equal(t, out, again)
	require.Equal(t, files, same)
}

// TestUntrue: an island that claims a find that isn't one is refused before anything is told,
// and the right one is folded then.
func TestUntrue(t *testing.T) {
	c, rounds := roundsOf(t)
	var out bytes.Buffer
	p := cli.New(&out, &out)
	right, err := c.Island(p, 0, 0)
	require.NoError(t, err)
	lie, err := fuzz.ReadIsland(right.Marshal())
	require.NoError(t, err)
	for n := range lie.Programs {
		if r := &lie.Programs[n]; r.Broken == nil {
			r.Violations, r.Broken = 1, []fuzz.Broke{{Property: "no-start-inside", Runs: 1}}
			break
		}
	}
	require.NoError(t, c.Check(lie))
	err = c.FoldAndReport(p, lie)
	require.ErrorIs(t, err, ErrUntrue)
	require.NotContains(t, err.Error(), "\n")
	p.Flush()
	require.Empty(t, out.String())
	require.NoError(t, c.FoldAndReport(p, right))

	there := elsewhere(t, rounds)
	there.Stop()
	_, err = there.Island(p, 0, 0)
	require.ErrorIs(t, err, fuzz.ErrStopped)
}

// TestNoRounds: flags that rounds can't keep are refused.
func TestNoRounds(t *testing.T) {
	for flag, c := range map[string]*Fuzz{"--for": {For: 1}, "--recipe": {Recipe: "a"}, "--print": {Print: true},
		"--strategy": {Each: 1, Strategy: "none"}} {
		_, err := c.Plan(1, 1)
		require.ErrorContains(t, err, flag)
	}
	c := &Fuzz{Each: 1}
	require.ErrorContains(t, c.Begin(&FuzzRounds{Each: 1, Islands: 1, Size: 1, Start: []string{"part"}}), "recipe 0")
	require.ErrorContains(t, c.Begin(&FuzzRounds{Each: 1, Islands: 1}), "islands")
	require.ErrorContains(t, c.Begin(&FuzzRounds{Islands: 1, Size: 1}), "one run")
}
