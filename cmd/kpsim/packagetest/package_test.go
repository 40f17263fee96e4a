package packagetest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/version"
)

const source = "https://example.org/kpsim"

// clone is the root of the repository, and made the folder with what scripts/package makes of
// it, once for all tests that want it.
var clone, made string

// TestMain names the folder, and removes it.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if clone, err = filepath.Abs("../../.."); err != nil {
			panic(err)
		}
		if made, err = os.MkdirTemp("", "kpsim-package"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(made)
		return m.Run()
	}())
}

var makeAll = sync.OnceValues(func() (string, error) {
	out, err := command(clone, "scripts/package", "-o", made, "--source", source).CombinedOutput()
	return string(out), err
})

// missing says what there has to be for a package to be made, and isn't.
func missing() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "packages are for Linux on amd64 and arm64"
	}
	if proctest.Race {
		return "the race detector finds nothing in the script"
	}
	for _, tool := range []string{"git", "dpkg-deb", "dpkg", "tar", "gzip", "iconv"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "no " + tool + " here"
		}
	}
	if err := command(clone, "git", "rev-parse", "HEAD").Run(); err != nil {
		return "this is no clone"
	}
	return ""
}

func needPackage(t *testing.T) {
	t.Helper()
	if why := missing(); why != "" {
		t.Skip(why)
	}
	thorough.Only(t, "scripts/package compiles everything anew, two minutes on two cores")
	out, err := makeAll()
	require.NoError(t, err, "scripts/package: %s", out)
}

// command is one to be run in a folder, with what a distribution's tools need of PATH, and
// Go's defaults: an empty GOFLAGS would stand for what go env -w has set.
func command(dir, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "GOFLAGS=-buildvcs=auto", "GOWORK=",
		"LC_ALL=C.UTF-8")
	return c
}

// output runs a command that must succeed, and returns what it prints.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	require.NoError(t, err, "%q\n%s%s", c.Args, out, &errs)
	return string(out)
}

// one is the path of the file among the made ones that a pattern matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(made, pattern))
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// checkVersion has a program say its version, and search a little.
func checkVersion(t *testing.T, program string) version.Info {
	t.Helper()
	dir := t.TempDir()
	var v version.Info
	require.NoError(t, json.Unmarshal([]byte(output(t, command(dir, program, "version", "--json"))), &v))
	require.Contains(t, output(t, command(dir, program, "explore", "--runs", "100", "safe-none")), "Never")
	return v
}

// head is the commit of the clone, and whether files differ from it.
func head(t *testing.T) (commit string, modified bool) {
	t.Helper()
	return strings.TrimSpace(output(t, command(clone, "git", "rev-parse", "HEAD"))),
		output(t, command(clone, "git", "status", "--porcelain")) != ""
}

// The program is static and stripped, has no path of the computer it was made on, and says
// which commit it is of. SHA256SUMS has all that was made.
func TestProgram(t *testing.T) {
	needPackage(t)
	program := one(t, "kpsim")
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		require.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, p.Type)
	}
	require.Nil(t, file.Section(".symtab"))
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	for _, path := range []string{clone, home + "/",
		strings.TrimSpace(output(t, command(clone, "go", "env", "GOMODCACHE")))} {
		require.False(t, bytes.Contains(data, []byte(path)), path)
	}

	v := checkVersion(t, program)
	commit, modified := head(t)
	require.Equal(t, version.Info{Version: v.Version, Commit: commit, Modified: &modified, Source: source}, v)
	require.Regexp(t, `^v\d+\.\d+\.\d+`, v.Version)
	require.Equal(t, modified, strings.HasSuffix(v.Version, "+dirty"))

	sums, err := os.ReadFile(one(t, "SHA256SUMS"))
	require.NoError(t, err)
	entries, err := os.ReadDir(made)
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" {
			data, err := os.ReadFile(filepath.Join(made, e.Name()))
			require.NoError(t, err)
			require.Contains(t, string(sums), fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name()))
		}
	}
}

// Another clone, elsewhere, with another umask, time zone, language and settings of Go, gives
// the same bytes.
func TestReproducible(t *testing.T) {
	needPackage(t)
	again := filepath.Join(t.TempDir(), "another clone")
	output(t, command(clone, "git", "clone", "-q", "--shared", clone, again))
	for name := range strings.SplitSeq(output(t, command(clone, "git", "ls-files", "-z", "--modified", "--others",
		"--exclude-standard")), "\x00") {
		data, err := os.ReadFile(filepath.Join(clone, name))
		if name == "" {
			continue
		} else if os.IsNotExist(err) {
			require.NoError(t, os.Remove(filepath.Join(again, name)))
			continue
		}
		require.NoError(t, err)
		s, err := os.Stat(filepath.Join(clone, name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(again, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(again, name), data, s.Mode().Perm()))
	}
	require.NoError(t, os.Mkdir(filepath.Join(again, "the packages"), 0o755))
	// no edit
	require.NoError(t, os.WriteFile(filepath.Join(again, "the packages", "kpsim"), []byte("an older one"), 0o644))
	c := command(again, "sh", "-c", "umask 027; scripts/package --source "+source+" -o 'the packages'")
	c.Env = append(c.Env, "TZ=Asia/Kathmandu", "LC_ALL=C", "SOURCE_DATE_EPOCH=1", "GOFLAGS=-tags=other", "GOAMD64=v3",
		"CGO_ENABLED=1")
	output(t, c)
	for _, pattern := range []string{"kpsim", "kpsim_*.tar.gz", "kpsim_*.deb", "SHA256SUMS"} {
		path := one(t, pattern)
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(again, "the packages", filepath.Base(path)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), filepath.Base(path))
	}
	left, err := filepath.Glob(filepath.Join(again, "the packages", ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The archive has the program, a man page for each command, completions, and the licence of
// each module that is linked in; all of it root's, and readable by all.
func TestArchive(t *testing.T) {
	needPackage(t)
	f, err := os.Open(one(t, "kpsim_*.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	require.NoError(t, err)
	files := map[string][]byte{}
	top := ""
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		first, name, _ := strings.Cut(h.Name, "/")
		top = first
		mode := int64(0o644)
		if h.Typeflag == tar.TypeDir || name == "bin/kpsim" {
			mode = 0o755
		}
		require.Equal(t, []int64{0, 0, mode}, []int64{int64(h.Uid), int64(h.Gid), h.Mode}, h.Name)
		if h.Typeflag != tar.TypeDir {
			files[name], err = io.ReadAll(r)
			require.NoError(t, err)
		}
	}
	require.Regexp(t, `^kpsim-\d`, top)
	for _, name := range []string{"bin/kpsim", "share/man/man1/kpsim.1.gz", "share/man/man1/kpsim-overhead-fit.1.gz",
		"share/bash-completion/completions/kpsim", "share/zsh/site-functions/_kpsim",
		"share/fish/vendor_completions.d/kpsim.fish", "share/doc/kpsim/changelog.gz"} {
		require.NotEmpty(t, files[name], name)
	}
	licences := string(files["share/doc/kpsim/copyright"])
	program := filepath.Join(t.TempDir(), "kpsim")
	require.NoError(t, os.WriteFile(program, files["bin/kpsim"], 0o755))
	built := output(t, command(clone, "go", "version", "-m", program))
	deps := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(built, -1)
	require.Greater(t, len(deps), 10)
	for _, d := range deps {
		require.Contains(t, licences, "\n"+d[1]+" "+d[2]+", ")
	}
	require.Contains(t, licences, "The kpsim authors")
	require.Contains(t, licences, "The Go Authors")
	require.NotContains(t, built, "vcs.") // the linker was told, so that no more than the commit counts
}

// The script passes shellcheck, and what it is told wrongly it says in a line.
func TestScript(t *testing.T) {
	needPackage(t)
	if _, err := exec.LookPath("shellcheck"); err == nil {
		output(t, command(clone, "shellcheck", "scripts/package"))
	} else {
		t.Log("no shellcheck here")
	}
	for args, want := range map[string]string{
		"-o":               "package: -o needs a folder\n",
		"--source":         "package: --source needs a URL, such as https://example.org/kpsim\n",
		"--source http://": "package: --source needs a URL, such as https://example.org/kpsim\n",
		"--nosuch":         "package: there is no --nosuch; scripts/package --help says what there is\n",
	} {
		out, err := command(clone, "scripts/package", strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Equal(t, want, string(out))
	}
	require.Contains(t, output(t, command(clone, "scripts/package", "--help")), "scripts/package [-o FOLDER]")
}
