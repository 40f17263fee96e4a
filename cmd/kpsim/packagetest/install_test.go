package packagetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/version"
)

// shown has a shell run a script of testdata, which docs/install.md shows, in a folder, with
// words replaced by others.
func shown(t *testing.T, dir, name string, replaced ...string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(clone, "docs/install.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "    "+strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    ")+"\n\n")
	return command(dir, "sh", "-euc", strings.NewReplacer(replaced...).Replace(string(text)))
}

// state is the commit of a clone, and which files differ from it; "" if it is none.
func state(clone string) string {
	head, _ := command(clone, "git", "rev-parse", "HEAD").Output()
	files, _ := command(clone, "git", "status", "--porcelain").Output()
	return string(head) + string(files)
}

// go install in the clone makes a program that knows its commit, as Go notes it.
func TestInstallFromClone(t *testing.T) {
	if proctest.Race {
		t.Skip("the race detector finds nothing in go install")
	}
	bin := t.TempDir()
	before := state(clone)
	c := shown(t, clone, "clone.sh")
	c.Env = append(c.Env, "GOBIN="+bin)
	output(t, c)
	v := checkVersion(t, filepath.Join(bin, "kpsim"))
	if state(clone) != before {
		t.Skip("the clone changed meanwhile")
	}
	if s, err := os.Stat(filepath.Join(clone, ".git")); err != nil || !s.IsDir() ||
		command(clone, "git", "rev-parse", "HEAD").Run() != nil {
		t.Skip("this is no clone, or a worktree of one, or there is no git: Go notes no commit")
	}
	commit, modified := head(t)
	require.Equal(t, version.Info{Version: v.Version, Commit: commit, Modified: &modified, Source: "module kpsim"}, v)
	require.Contains(t, v.Version, commit[:12])
}

// library is a package of another module that uses kpsim's, and libraryTest searches.
const library = `package mine

import (
%s)

// Strategies says how many there are.
func Strategies() int { return len(sched.All) }
`

const libraryTest = `package mine

import (
	"testing"

	"kpsim/kpsimtest"
)

func TestMine(t *testing.T) {
	kpsimtest.Never(t, "safe-none", kpsimtest.Runs(100))
	if Strategies() == 0 {
		t.Error("no strategies")
	}
}
`

// Another module names a clone: it installs the command, has it as its tool, compiles with
// each package that isn't internal, and searches in a test. go.work of the clone doesn't count
// there. Its commit Go can't know.
func TestInstallByReplace(t *testing.T) {
	thorough.Only(t, "half a minute: it compiles all packages in another module")
	if proctest.Race {
		t.Skip("the race detector finds nothing in go install")
	}
	dir, bin := filepath.Join(t.TempDir(), "another module"), t.TempDir()
	require.NoError(t, os.Mkdir(dir, 0o755))
	do := func(c *exec.Cmd) string {
		t.Helper()
		c.Env = append(c.Env, "GOBIN="+bin)
		out, err := c.CombinedOutput()
		if offline := regexp.MustCompile(`dial tcp|GOPROXY=off|no such host`).Find(out); err != nil && offline != nil {
			t.Skipf("%s: what kpsim needs isn't at hand for another module", offline)
		}
		require.NoError(t, err, "%q\n%s", c.Args, out)
		return string(out)
	}
	run := func(args ...string) string { return do(command(dir, "go", args...)) }
	run("mod", "init", "example.org/mine")
	// What it needs was verified by the clone's go.sum.
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
	do(shown(t, dir, "module.sh", "/path/to/kpsim", clone))
	v := checkVersion(t, filepath.Join(bin, "kpsim"))
	require.Equal(t, version.Info{Source: "module kpsim"}, v)

	run("get", "-tool", "kpsim/cmd/kpsim")
	require.Contains(t, run("tool", "kpsim", "version"), "from             module kpsim\n")

	var imports strings.Builder
	public := 0
	for path := range strings.FieldsSeq(output(t,
		command(clone, "go", "list", "-f", `{{if and (ne .Name "main") .GoFiles}}{{.ImportPath}}{{end}}`, "./..."))) {
		if !regexp.MustCompile(`(^|/)(internal|cmd|scripts|campaign)(/|$)`).MatchString(path) && path != "kpsim" {
			name := "_ "
			if path == "kpsim/sched" {
				name = ""
			}
			fmt.Fprintf(&imports, "\t%s%q\n", name, path)
			public++
		}
	}
	require.Greater(t, public, 20)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.go"), fmt.Appendf(nil, library, &imports), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine_test.go"), []byte(libraryTest), 0o644))
	run("build", "-mod=mod", "./...")
	require.Contains(t, run("test", "-mod=mod", "./..."), "ok")
}
