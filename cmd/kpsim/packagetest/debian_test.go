package packagetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A root is a folder that dpkg takes for the root of a system without any package.
type root string

func newRoot(t *testing.T) root {
	r := root(t.TempDir())
	db := r.path("var/lib/dpkg")
	for _, dir := range []string{"info", "updates", "triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(db, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(db, "status"), nil, 0o644))
	return r
}

func (r root) path(name string) string { return filepath.Join(string(r), name) }

// dpkg runs dpkg on the folder. Without --log it would write to the system's. The system's
// settings are read all the same: those of small containers leave man pages out.
func (r root) dpkg(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, command(string(r), "dpkg", append(r.flags(), args...)...))
}

func (r root) flags() []string {
	return []string{"--root=" + string(r), "--log=" + r.path("var/log"), "--force-not-root",
		"--path-include=/usr/share/*"}
}

// files are those below the folder that aren't dpkg's own.
func (r root) files(t *testing.T) (list []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(string(r), func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, string(r)+"/")
		if name == "var" {
			return fs.SkipDir
		}
		if path != string(r) {
			list = append(list, name)
		}
		return err
	}))
	return list
}

// The package is installed by dpkg, works, and leaves nothing when it is removed.
func TestDebian(t *testing.T) {
	needPackage(t)
	deb := one(t, "*.deb")
	control := output(t, command(made, "dpkg-deb", "--field", deb))
	require.NotContains(t, control, "Depends:")
	require.Contains(t, control, "\nHomepage: "+source+"\n")
	r := newRoot(t)
	// The line of the page, but that sudo gives what dpkg does a root of our own.
	sudo := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(sudo, "sudo"),
		[]byte("#!/bin/sh\nshift\nexec dpkg "+"'"+strings.Join(r.flags(), "' '")+"' \"$@\"\n"), 0o755))
	install := shown(t, made, "debian.sh", "scripts/package -o dist\n", "", "dist/", "./")
	install.Env = append(install.Env, "PATH="+sudo+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	output(t, install)
	require.Empty(t, r.dpkg(t, "--verify", "kpsim"), "the sums of the files")

	commit, _ := head(t)
	require.Equal(t, commit, checkVersion(t, r.path("usr/bin/kpsim")).Commit)
	pages, err := filepath.Glob(r.path("usr/share/man/man1/kpsim*.1.gz"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 30)
	for _, name := range []string{"copyright", "changelog.gz", "changelog.Debian.gz"} {
		require.FileExists(t, r.path("usr/share/doc/kpsim/"+name))
	}
	t.Run("man", func(t *testing.T) {
		needTool(t, "man")
		c := command(string(r), "man", "kpsim-overhead-fit")
		c.Env = append(c.Env, "MANPATH="+r.path("usr/share/man"), "MANPAGER=cat")
		require.Contains(t, output(t, c), "EXIT STATUS")
	})
	t.Run("completions", r.checkCompletions)

	r.dpkg(t, "--purge", "kpsim")
	require.Empty(t, r.files(t))
}

func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("no %s here", name)
	}
}

// checkCompletions: each shell finds the completion of kpsim in the folder where its packages
// put them, loads it when it is asked to complete, and completes a command.
func (r root) checkCompletions(t *testing.T) {
	shells := map[string][]string{
		"bash": {"--norc", "-c",
			`source "$1/usr/share/bash-completion/completions/kpsim"; complete -p kpsim >/dev/null || exit 1
			COMP_WORDS=(kpsim overh) COMP_CWORD=1; _kpsim kpsim; echo "${COMPREPLY[@]}"`, "bash", string(r)},
		"zsh": {"-f", "-c", `fpath=("$1/usr/share/zsh/vendor-completions" $fpath); autoload -Uz compinit; compinit -u -D
			[[ $_comps[kpsim] == _kpsim ]] && autoload +X _kpsim && functions _kpsim | grep -q compadd && kpsim complete -- overh`, "zsh", string(r)},
		"fish": {"-c", `complete -C "kpsim overh"`},
	}
	for shell, args := range shells {
		t.Run(shell, func(t *testing.T) {
			needTool(t, shell)
			c := command(string(r), shell, args...)
			c.Env = append(c.Env, "PATH="+r.path("usr/bin")+":"+os.Getenv("PATH"), "HOME="+t.TempDir(),
				"XDG_DATA_DIRS="+r.path("usr/share"))
			require.Equal(t, "overhead\n", output(t, c))
		})
	}
}

// Debian's own checker has nothing to say against the package.
func TestLintian(t *testing.T) {
	needPackage(t)
	needTool(t, "lintian")
	args := []string{"--fail-on", "error,warning", one(t, "*.deb")}
	if os.Getuid() == 0 {
		args = append(args, "--allow-root")
	}
	require.Empty(t, output(t, command(made, "lintian", args...)))
}
