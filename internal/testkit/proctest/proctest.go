package proctest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
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

// seen looks at each file of the module, once, so that go test has them among what the tests depend on: it doesn't know
// that they run a program which they compile, and gave results of an older one again.
var seen = sync.OnceFunc(func() {
	root := ".."
	for i := 0; i < 5; i++ {
		if _, err := os.Stat(filepath.Join(root, "go.work")); err == nil {
			break
		}
		root = filepath.Join(root, "..")
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			_, _ = os.Stat(path)
		}
		return nil
	})
})

// Setup has a script find kpsim by its name. What one script has had kpsim keep of a kernel
// the others find; it is gone when the tests are.
func Setup(e *testscript.Env) {
	seen()
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
