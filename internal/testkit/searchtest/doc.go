// Package searchtest holds what the tests of several packages of internal/search share:
// scenarios from text, and how much less they do under the race detector.
//
// What it is not: it runs nothing, and is imported by tests alone.
//
// Its rule: it knows scenarios and no rig, so that a rig's own tests can use it.
package searchtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/traces"
)

// Root returns the folder of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
		require.NotEqual(t, "/", dir, "no go.mod above the test")
	}
}

// Load returns the scenario of a text. It may name the modules of internal/scenario/testdata.
func Load(t testing.TB, src string) *scenario.Scenario {
	t.Helper()
	sc, err := lang.Load("t.star", []byte(src), func(file string) ([]byte, error) {
		if file == "module.ko" || file == "percpu.ko" {
			return os.ReadFile(filepath.Join(Root(t), "internal/scenario/testdata", file))
		}
		return library.Open(file)
	})
	require.NoError(t, err)
	return sc
}

// LoadTinier returns a scenario of two CPUs of which every schedule can be run.
func LoadTinier(t testing.TB, machine, rest string) *scenario.Scenario {
	t.Helper()
	src := fmt.Sprintf("scenario(says = "+
		"\"Small enough for every schedule to be run.\")\nmachine(cpus = 2, %s)\n%s\nnever()\n", machine, rest)
	sc, err := lang.Load("tinier.star", []byte(src), os.ReadFile)
	require.NoError(t, err)
	return sc
}

// Quick is how many runs a test makes of a scenario: fewer of the large ones.
func Quick(sc *scenario.Scenario, runs uint64) uint64 {
	if sc.Machine.CPUs > 2 {
		runs /= 20 * min(Slow, 4)
	}
	return max(runs/Slow, 1)
}

// CorpusPath returns where a trace of traces/corpus is.
func CorpusPath(t testing.TB, name string) string {
	return filepath.Join(Root(t), "traces/corpus", name+".kps")
}

// ReadTrace reads a trace file.
func ReadTrace(t testing.TB, path string) *traces.File {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := traces.Parse(path, data)
	require.NoError(t, err)
	return f
}
