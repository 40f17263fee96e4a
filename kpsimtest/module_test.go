package kpsimtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"kpsim/internal/thorough"

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
	kpsim, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "a module") // a path that a shell takes in quotes only
	pkg := filepath.Join(dir, "races")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pkg, "mine_test.go"), []byte(failing), 0o644))
	run := func(in string, status int, words ...string) string {
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
	out := run(dir, 1, "go", "test", "./...")
	line := regexp.MustCompile(`(?m)to see why:  (.*)$`).FindStringSubmatch(out)
	require.NotNil(t, line, out)
	require.FileExists(t, filepath.Join(pkg, "testdata", "second-instruction-no-start-inside.kps"))
	for _, in := range []string{dir, pkg} {
		require.Contains(t, run(in, 0, "sh", "-c", line[1]), "no-start-inside")
	}
}
