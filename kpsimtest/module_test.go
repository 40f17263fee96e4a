package kpsimtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	line := regexp.MustCompile(`(?m)to see why:  (.*)$`).FindStringSubmatch(out)
	require.NotNil(t, line, out)
	require.FileExists(t, filepath.Join(pkg, "testdata", "second-instruction-no-start-inside.kps"))
	for _, in := range []string{dir, pkg} {
		require.Contains(t, run(in, 0, "sh", "-c", line[1]), "no-start-inside")
	}
}

// ownCommand makes the command that has an engine of another module, and has it explain a trace.
const ownCommand = `
go get -tool kpsim/cmd/kpsim
printf '{"Replace": {"%s/engine/all/row.go": "%s/row.go.txt"}}' "$(go list -m -f '{{.Dir}}' kpsim)" "$PWD" >overlay.json
go build -overlay overlay.json -o kpsim-mine kpsim/cmd/kpsim
./kpsim-mine explain testdata/race-owned-breakpoint.kps
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
