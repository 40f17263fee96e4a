package proctest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var folder string // of the program under test

// Race says that the race detector makes all some ten times slower: the tests, and the
// program under test.
var Race = func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()

// typed calls kpsim as a shell does that has found it by its name, which is what it then
// gives for the name to type again; scripts would give it the whole path.
const typed = `#!/bin/sh
PATH=${0%/typed/kpsim}:$PATH
exec kpsim "$@"
`

// Main is for a TestMain: it compiles kpsim, runs the tests and exits. With the race
// detector in the tests the program has it, too.
func Main(m *testing.M) { os.Exit(compiled(m)) }

func compiled(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kpsim")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	added, err := overlay(dir)
	if err != nil {
		panic(err)
	}
	args := []string{"build", "-overlay", added, "-o", filepath.Join(dir, "kpsim")}
	if Race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "kpsim/cmd/kpsim")...).CombinedOutput(); err != nil {
		panic(string(out))
	}
	folder = dir
	if err := os.Mkdir(filepath.Join(dir, "typed"), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "typed", "kpsim"), []byte(typed), 0o755); err != nil {
		panic(err)
	}
	defer stopServers()
	return m.Run()
}

// Program is the path of kpsim.
func Program() string { return filepath.Join(folder, "kpsim") }

// Setup has a script find kpsim by its name. What one script has had kpsim keep of a kernel
// the others find; it is gone when the tests are.
func Setup(e *testscript.Env) {
	e.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
	e.Setenv("PATH", filepath.Join(folder, "typed")+string(filepath.ListSeparator)+e.Getenv("PATH"))
	var names []string
	for _, v := range e.Vars {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	e.Values[variables{}] = names
}

// ExitStatus is how a command of a script has ended. An error that tells of no end
// fails the script.
func ExitStatus(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}
