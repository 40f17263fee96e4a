package scripttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
)

// repeating is a scenario with a long run.
const repeating = `machine(cpus = 4, steps = 50000000)
v = text("v", "90 90 90 90 90 90 c3")
k = kprobe("k", at = v)
for i in range(3): task(cpu = i, ops = [call(v), schedule()], repeat = 1000000)
task(cpu = 3, ops = [register(k), unregister(k)], repeat = 1000000)
`

// Each command that may take long hears the first ^C: it ends within a second, and its
// status is 130.
func TestFirstInterrupt(t *testing.T) {
	trace, err := filepath.Abs("../../../traces/corpus/T2-second-instruction.kps")
	require.NoError(t, err)
	long := filepath.Join(t.TempDir(), "long.star")
	require.NoError(t, os.WriteFile(long, []byte(repeating), 0o666))
	for i, words := range []string{
		"explore safe-none torn-jump --runs 1000000000", "explore LONG",
		"explore torn-jump --runs 1000000000 --self-check=1000000000",
		"fuzz --runs 1000000000", "fuzz --for 1h", "fuzz --runs 1000000000 --each 1000000000",
		"verify --full register-storm-none", "verify --deviations 9 register-storm-none",
		"verify --by classes --full register-storm-none", "verify --by classes --deviations 9 register-storm-none",
		"verify LONG",
		"matrix --drawn 1000000000", "matrix --full", "bench search", "bench search --time 1h --seeds 1 --most 1",
		"mutants --seeds 10000",
		"run LONG", "explain TRACE --runs 1000000",
		"overhead table --noise --runs 1000 --hits 1000", "overhead table --html page.html",
		"overhead pauses --runs 10000", "overhead maxactive --runs 10000",
		"overhead price safe-none --cpus 64 --runs 10000",
	} {
		if i%3 != 1 && !thorough.Set() {
			continue // one of most commands
		}
		t.Run(words, func(t *testing.T) {
			t.Parallel() // as many as there are processors
			args := strings.Fields(strings.NewReplacer("TRACE", trace, "LONG", long).Replace(words))
			e := proctest.InterruptedAfter(t, proctest.Program(), 400*time.Millisecond, args...)
			require.Equal(t, interrupted, e.Status, e.Stderr)
			require.Contains(t, e.Stderr, "kpsim: interrupted")
			require.Less(t, e.Memory, int64(1<<30)) // a long run keeps more, the faster the machine
		})
	}
}
