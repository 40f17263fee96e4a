package litmus

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/run"
)

const racy = `C MP+plains
(* Result: RESULT *)
{}
P0(int *x, int *y) { *x = 1; smp_mb(); *y = 1; }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); smp_mb(); int r1 = READ_ONCE(*x); }
exists (1:r0=1 /\ 1:r1=OTHER)
`

// searched reads and runs a test.
func searched(t *testing.T, memory run.Memory, text string) *test {
	path := filepath.Join(t.TempDir(), "t.litmus")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	x := read(path, memory)
	require.NoError(t, x.err)
	x.search(&Litmus{States: 100_000, Explain: true}, new(atomic.Bool), nil)
	require.NoError(t, x.err)
	return x
}

// TestRace: a data race is named, a verdict beside it is limited, and it isn't complete.
func TestRace(t *testing.T) {
	const named = "Data race: P0 writes y without WRITE_ONCE (line 4), P1 reads y (line 5)\n"
	for _, c := range []struct {
		memory       run.Memory
		other, seen  string
		limitedBegin string
	}{
		{run.LKMM, "0", "Sometimes 1 3", "compilers may show more"},
		{run.LKMM, "7", "Never 0 4", "Never is limited: compilers may show more"},
		{run.TSO, "0", "Never 0 3",
			"Never is limited: compilers may show more than these final states; plain accesses are run as READ_ONCE"},
	} {
		x := searched(t, c.memory, strings.Replace(racy, "OTHER", c.other, 1))
		holds := 0
		for _, o := range x.result.Outcomes {
			if o.Holds {
				holds++
			}
		}
		var b bytes.Buffer
		x.text(&b, holds, len(x.result.Outcomes)-holds)
		require.Contains(t, b.String(), "Observation MP+plains "+c.seen+"\n"+named+c.limitedBegin)
		j := x.json(holds, len(x.result.Outcomes)-holds)
		require.False(t, j.Complete)
		require.Contains(t, j.Limited, "compilers")
		require.Equal(t, "P0 writes y without WRITE_ONCE (line 4), P1 reads y (line 5)", j.Race)
	}
	marked := searched(t, run.LKMM,
		strings.NewReplacer("*x = 1", "WRITE_ONCE(*x, 1)", "*y = 1", "WRITE_ONCE(*y, 1)", "OTHER", "0").Replace(racy))
	require.Nil(t, marked.result.Race)
	require.True(t, marked.json(0, 3).Complete)
}

// TestExpectedRace: a comment that expects a race says nothing of the verdict.
func TestExpectedRace(t *testing.T) {
	x := searched(t, run.LKMM, strings.NewReplacer("OTHER", "0", "RESULT", "Never DATARACE").Replace(racy))
	require.True(t, x.races)
	require.Equal(t, "Never DATARACE", x.expectation())
}
