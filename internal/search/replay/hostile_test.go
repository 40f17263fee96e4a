package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kpsim/internal/testkit/searchtest"
	"kpsim/traces"

	"github.com/stretchr/testify/require"
)

// What a stranger's file may take.
const strangersTime = 20 * time.Second

// Whatever a trace's bytes are, it is refused by one line, or played.
func FuzzPlay(f *testing.F) {
	paths, err := filepath.Glob(searchtest.CorpusPath(f, "*"))
	require.NoError(f, err)
	for i := 0; i < len(paths); i += 8 {
		data, err := os.ReadFile(paths[i])
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		began := time.Now()
		file, err := traces.Parse("mail.kps", data)
		if err == nil {
			var r *Replay
			if r, err = Play("mail.kps", file, true); err == nil {
				r.Rig.Close()
			}
		}
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		require.Less(t, time.Since(began), strangersTime)
	})
}

// A stranger's trace may say that a run is long: it takes so long and no longer.
func TestLongTrace(t *testing.T) {
	file := &traces.File{Property: "T2", Format: 1, Scenario: `machine(cpus = 2, steps = 50000000)
f = text("f", hex = "55 4889e5 5d c3")
task(cpu = 0, ops = [call(f)], repeat = 1000000)
task(cpu = 1, ops = [call(f)], repeat = 1000000)
`}
	_, err := Play("long.kps", file, true)
	require.ErrorContains(t, err,
		"hasn't ended after 1000000 steps; if it is a loop that ends, and only long, a trace's run, which has at most 1000000 boundaries, is too short for it: explore its scenario by itself, with machine(steps = 10000000)")
	file.Scenario = strings.Replace(file.Scenario, "steps = 50000000", "steps = 100000", 1)
	_, err = Play("long.kps", file, true)
	require.ErrorContains(t, err, "only long, say machine(steps = 1000000)")
}
