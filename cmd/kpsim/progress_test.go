package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
)

// lasting are command lines of all commands that can take more than a second, as short as they can
// be, or with little to do.
var lasting = []string{
	"explore --runs 600 second-instruction safe-none", "explore --runs 600 --self-check second-instruction",
	"explore --shard 1/2 --runs 600 --out 1.json torn-jump",
	"explore --shard 2/2 --runs 600 --out 2.json torn-jump", "merge 1.json 2.json",
	"fuzz --runs 1400 --each 4", "fuzz --programs 120 --each 1", "fuzz --for 1h --programs 120 --each 1",
	"fuzz --for 4s", "fuzz --until-covered 1000 --each 1",
	"small --calls 3 jump",
	"verify --deviations 2 safe-none torn-jump", "verify --full --counted --all torn-jump",
	"verify --runs 600 --deviations 9 safe-none",
	"compare --kernel KERNEL --programs 60",
	"compare --kernel KERNEL --mutant skip-call:text_poke_memcpy:__memcpy:1 --runs 20 torn-jump",
	"review --before KERNEL --kernel NEWER --runs 2 --programs 1 torn-jump safe-none second-instruction",
	"matrix raw/poke-2 --deviations 1 --drawn 8",
	"explain --runs 5 t.kps", "shrink t.kps --out small.kps", "rerecord t.kps small.kps",
	"check OBJECT", "check --html page.html OBJECT", "check --json OBJECT", "check --all OBJECT",
	"litmus TESTS",
	"bench search --seeds 2 --time 1ms --mutants no-quiesce",
	"mutants --seeds 2 --blind no-quiesce free-early",
	"overhead --noise --machine xeon-e5410/x86_64 --runs 2 --hits 100",
	"overhead --html page.html --machine xeon-e5410/x86_64 --probe k", "overhead --cpus 1,2,3 --edition 6.9",
	"overhead maxactive --tasks 1-2 --maxactive 1-2", "overhead pauses --cpus 2,3 --runs 2",
	"overhead probes --count 1,8,64", "overhead price hook-unsynced --cpus 1,2,4 --runs 2",
}

// soon are the other commands: they make one run, or none, or are told by the user how to go on.
var soon = []string{
	"new", "run", "shell", "replay", "view", "export", "disasm", "kernel info", "kernel closure", "kernel mutants",
	"kernel table", "kernel runs",
	"overhead table", "overhead fit", "overhead script", "overhead calibrate", "overhead nominal", "editions", "list", "version",
	"completion", "complete", "man", "fmt",
}

// apart lists commands that compile a kernel's source, and run until they are stopped. Their scripts run them.
var apart = []string{"bisect", "watch"}

// Each command that can take more than a second says how much of what it does is done, of a total
// that it says from the beginning, and how long the rest will take.
func TestProgress(t *testing.T) {
	object, err := filepath.Abs("testdata/mine/reasons.o")
	require.NoError(t, err)
	tests, err := filepath.Abs("testdata/litmus")
	require.NoError(t, err)
	trace, err := os.ReadFile("../../traces/corpus/T1-torn-jump.kps")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("t.kps", trace, 0o644))
	for _, line := range lasting {
		t.Run(line, func(t *testing.T) {
			if regexp.MustCompile(`--html|^matrix|^compare|^review|^bench|--for 1h|--programs 120|^verify --full|--for 4s|--until-covered|--noise`).MatchString(line) {
				thorough.Only(t, "several seconds; a shorter command has the same progress")
			}
			if strings.Contains(line, "KERNEL") {
				line = strings.ReplaceAll(line, "KERNEL", kerneltest.Path(t, "6.1"))
				line = strings.ReplaceAll(line, "NEWER", kerneltest.Path(t, "6.12"))
			}
			progresses(t, strings.Fields(strings.NewReplacer("OBJECT", object, "TESTS", tests).Replace(line)))
		})
	}
}

// No command is forgotten.
func TestProgressOfAll(t *testing.T) {
	known := slices.Concat(soon, lasting, apart)
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		if n.Leaf() {
			name := strings.TrimPrefix(n.FullPath(), "kpsim ")
			require.True(t, slices.ContainsFunc(known, func(line string) bool {
				return line == name || strings.HasPrefix(line, name+" ")
			}),
				"%s: does it show progress? See lasting and soon.", name)
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(newParser(verbs, os.Stdout, os.Stderr).Model.Node)
}

// told is a line of progress.
var told = regexp.MustCompile(`: (\d\S*) of (\d\S*(?: \w+)?), (\d+) %(, .* left)?(?:; .*)?$`)

func progresses(t *testing.T, args []string) {
	var out, errs bytes.Buffer
	p := cli.New(&out, &errs)
	now := time.Unix(0, 0)
	p.Live, p.Clock = true, func() time.Time { // it goes on each time it is looked at
		now = now.Add(time.Second)
		return now
	}
	if strings.Join(args, " ") == "fuzz --for 4s" {
		p.Clock = nil
	}
	require.LessOrEqual(t, runOn(p, args, &out, &errs), cli.Against, errs.String())
	var lines [][]string
	for _, s := range strings.Split(errs.String(), "\r\x1b[K") {
		if m := told.FindStringSubmatch(s); m != nil {
			lines = append(lines, m)
		} else if strings.Contains(s, " %") {
			t.Errorf("no line of progress: %q", s)
		}
	}
	require.Greater(t, len(lines), 1, errs.String())
	before, estimates := 0, 0
	for i, m := range lines {
		require.Equal(t, lines[0][2], m[2], "the total stays")
		share, err := strconv.Atoi(m[3])
		require.NoError(t, err)
		require.GreaterOrEqual(t, share, before, errs.String())
		if before = share; m[4] != "" {
			estimates++
		}
		if share > 0 && share < 100 && i > 0 { // in the first second nothing is concluded
			require.NotEmpty(t, m[4], m[0])
		}
	}
	last := lines[len(lines)-1]
	done, _, _ := strings.Cut(last[2], " ")
	require.Equal(t, done, last[1], "all is done in the end: %s", last[0])
	require.Equal(t, "100", last[3])
	require.NotZero(t, estimates, errs.String())
	require.True(t, strings.HasSuffix(errs.String(), "\r\x1b[K") || !strings.HasSuffix(errs.String(), last[0]),
		"the line is removed")
}
