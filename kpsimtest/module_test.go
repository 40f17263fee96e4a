package kpsimtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kpsim/internal/testkit/thorough"

	"github.com/stretchr/testify/require"
)

// failing is the test of a module that isn't kpsim.
const failing = `package mine

import (
	"testing"

	"kpsim/kpsimtest"
)

func TestSecondInstruction(t *testing.T) {
	kpsimtest.Never(t, "second-instruction", kpsimtest.Runs(300))
}
`

// Another module, made as docs/go-test.md says, has a test that fails, and the line
// that it prints explains the witness.
func TestForeignModule(t *testing.T) {
	thorough.Only(t, "6 s: it builds the command in another module")
	dir := filepath.Join(t.TempDir(), "a module") // a path that a shell takes in quotes only
	pkg := filepath.Join(dir, "races")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pkg, "mine_test.go"), []byte(failing), 0o644))
	run := module(t, dir)
	out := run(dir, 1, "go", "test", "./...")
	require.LessOrEqual(t, len(modulesOf(dir)), 6, "%v", modulesOf(dir))
	line := regexp.MustCompile(`(?m)to see why:  (.*)$`).FindStringSubmatch(out)
	require.NotNil(t, line, out)
	require.FileExists(t, filepath.Join(pkg, "testdata", "TestSecondInstruction",
		"second-instruction-no-start-inside.kps"))
	for _, in := range []string{dir, pkg} {
		require.Contains(t, run(in, 0, "sh", "-c", line[1]), "no-start-inside")
	}
}

// drawing is a test of a module that isn't kpsim: rapid draws a patcher by hand, which stores a jump in pieces.
const drawing = `package mine

import (
	"testing"

	"pgregory.net/rapid"

	"kpsim/kpsimtest"
	"kpsim/kpsimtest/build"
	"kpsim/kpsimtest/draw"
)

func TestPatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := build.New("patcher")
		m := draw.Machine(t, s)
		f := s.Text("f", "0f 1f 44 00 00 c3")
		g := s.Text("g", "31 c0 c3")
		write := build.Write(f, build.JumpTo(g)).By(rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "by"))
		s.Task("patcher").Ops(draw.Ops(t, 0, 3, build.Schedule(), build.SyncCore())...).Ops(write).
			Ops(draw.Ops(t, 0, 3, build.Schedule(), build.SyncCore())...)
		draw.Callers(t, s, m, []build.Function{f})
		draw.Interrupts(t, s, m)
		kpsimtest.Never(t, s, kpsimtest.Runs(200))
	})
}
`

// What another module has drawn and what breaks a property is shrunk, to a few deviations of a few operations.
func TestForeignDrawing(t *testing.T) {
	thorough.Only(t, "20 s: rapid shrinks in another module")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine_test.go"), []byte(drawing), 0o644))
	run := module(t, dir)
	run(dir, 0, "go", "get", "kpsim/kpsimtest/draw")
	out := run(dir, 1, "go", "test", "-rapid.nofailfile", ".")
	require.Contains(t, out, "patcher: a schedule breaks ")
	test := regexp.MustCompile(`(?s)as a test of its own:\n(.*?\n\})`).FindStringSubmatch(
		regexp.MustCompile(`(?m)^        `).ReplaceAllString(out, ""))
	require.NotNil(t, test, out)
	require.LessOrEqual(t, strings.Count(test[1], "("), 40, out)
	pasted := "package mine\n\nimport (\n\t\"testing\"\n\n\t\"kpsim/kpsimtest\"\n)\n\n" + test[1] + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine_test.go"), []byte(pasted), 0o644))
	require.Contains(t, run(dir, 1, "go", "test", "."), "still: cpu1")
	require.LessOrEqual(t, len(modulesOf(dir)), 7, "with rapid: %v", modulesOf(dir))
}

// modulesOf lists the modules of a go.sum.
func modulesOf(dir string) (list []string) {
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(dir, "go.sum"))))) {
		list = append(list, strings.Fields(line)[0])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ownCommand makes the command that has an engine of another module, and has it explain a trace.
const ownCommand = `
go get -tool kpsim/cmd/kpsim
printf '{"Replace": {"%s/engine/all/row.go": "%s/row.go.txt"}}' "$(go list -m -f '{{.Dir}}' kpsim)" "$PWD" >overlay.json
go build -overlay overlay.json -o kpsim-mine kpsim/cmd/kpsim
./kpsim-mine explain testdata/TestRace/race-owned-breakpoint.kps
`

// An engine of another module is searched by kpsimtest, and explained by a command that is built
// as docs/new-engine.md says.
func TestForeignEngine(t *testing.T) {
	thorough.Only(t, "10 s: it builds the command in another module")
	dir := t.TempDir()
	run := module(t, dir)
	page := string(must(os.ReadFile("../docs/new-engine.md")))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, blocks, 2)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "toy"), 0o755))
	for name, text := range map[string]string{
		"mine_test.go": blocks[0][1],
		"row.go.txt":   blocks[1][1],
		"toy/toy.go":   string(must(os.ReadFile("../engine/testdata/toy/toy.go"))),
		"race.star":    string(must(os.ReadFile("../engine/testdata/toy/race.star"))),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.Contains(t, run(dir, 1, "go", "test", "."), "race: owned-breakpoint at f+0x0")
	require.Contains(t, run(dir, 0, "sh", "-ec", ownCommand), "the kernel died")
}

// module makes a module as docs/go-test.md says. run runs a command in one of its folders.
func module(t *testing.T, dir string) (run func(in string, status int, words ...string) string) {
	t.Helper()
	kpsim, err := filepath.Abs("..")
	require.NoError(t, err)
	run = func(in string, status int, words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = in
		// What it builds with was verified by our own go.sum. The go.mod files of all that
		// those could need are asked for besides, so that a proxy must be at hand.
		cmd.Env = append(os.Environ(), "GOSUMDB=off", "GOFLAGS=", "GOWORK=off")
		out, _ := cmd.CombinedOutput()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), "%q: %s", words, out)
		return string(out)
	}
	run(dir, 0, "go", "mod", "init", "example.com/mine")
	page, err := os.ReadFile("../docs/go-test.md")
	require.NoError(t, err)
	once := regexp.MustCompile(`(?m)^    (go mod edit -replace kpsim=)/path/to/kpsim( && .*)$`).FindSubmatch(page)
	require.NotNil(t, once)
	run(dir, 0, "sh", "-c", fmt.Sprintf("%s'%s'%s", once[1], kpsim, once[2]))
	return run
}
