package review

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
)

// built builds a checkout of kpsim in which a file is changed: old became new. "" changes nothing.
func built(t *testing.T, file, old, new string, flags ...string) (program, patch string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	program, patch = filepath.Join(dir, "kpsim"), filepath.Join(dir, "go.patch")
	if file != "" {
		was := filepath.Join(root, file)
		text, err := os.ReadFile(was)
		require.NoError(t, err)
		require.Equal(t, 1, bytes.Count(text, []byte(old)))
		root = filepath.Join(dir, "checkout")
		checkout(t, "../../..", root)
		now := filepath.Join(root, file)
		require.NoError(t, os.WriteFile(now, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600))
		diff, _ := exec.Command("diff", "-u", "--label", "a/"+file, "--label", "b/"+file, was, now).Output()
		require.NoError(t, os.WriteFile(patch, diff, 0o600))
	}
	c := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", program}, flags...),
		"./cmd/kpsim")...)
	c.Dir = root
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	return program, patch
}

// checkout copies the files that a build takes.
func checkout(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, from)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o600)
	}))
}

// Two checkouts of the engine in Go are compared by what their programs say: a wait that one
// doesn't make is a verdict gained, from the other side one lost; the line was executed.
func TestPrograms(t *testing.T) {
	thorough.Only(t, "a minute: it compiles kpsim twice")
	before, _ := built(t, "", "", "")
	after, patch := built(t, "kprobes/optimize.go", "e.d.RCU.Synchronize(x, e.s.Quiesce)",
		"e.d.RCU.Synchronize(x, kapi.QuiesceRCU)",
		"-cover", "-covermode=atomic", "-coverpkg=kpsim/kprobes,kpsim/cmd/kpsim")
	list, text := told(t, cli.Against, &Review{Runs: 200, BeforeProgram: cli.FileName(before),
		Program: cli.FileName(after), Patch: cli.FileName(patch), Scenarios: []string{"safe-full", "emulated"}})
	gained := what(list, "gained")
	require.NotEmpty(t, gained)
	for _, g := range gained {
		require.Equal(t, "safe-full", g["scenario"])
		require.FileExists(t, g["trace"].(string))
		require.NotEmpty(t, g["sentences"])
	}
	lines := what(list, "lines")
	require.Len(t, lines, 1)
	require.Equal(t, "kprobes/optimize.go", lines[0]["file"])
	require.Positive(t, lines[0]["runs"])
	require.Len(t, what(list, "scenario"), 2)
	require.Len(t, what(list, "cost"), 6)
	require.Contains(t, text, "was executed")

	list, _ = told(t, cli.OK, &Review{Runs: 200, BeforeProgram: cli.FileName(after), Program: cli.FileName(before),
		Scenarios: []string{"safe-full"}})
	require.Empty(t, what(list, "gained"))
	require.NotEmpty(t, what(list, "lost"))

	list, text = told(t, cli.OK, &Review{Runs: 200, BeforeProgram: cli.FileName(before), Program: cli.FileName(before),
		Patch: cli.FileName(patch), Scenarios: []string{"safe-full"}})
	require.Empty(t, append(what(list, "gained"), what(list, "behaviour")...))
	require.Contains(t, text, "wasn&#39;t built with -cover")
}

// A file that is no kpsim is refused in a line that names its flag.
func TestNoPrograms(t *testing.T) {
	for file, says := range map[string]string{"missing": "missing: no such file", "../review": "is no program",
		"/bin/true": "isn't a kpsim"} {
		_, err := (&Review{BeforeProgram: cli.FileName(file), Program: "missing"}).Run(cli.New(new(bytes.Buffer),
			new(bytes.Buffer)))
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "--before-program: ")
		require.NotContains(t, fmt.Sprint(err), "\n")
	}
}
