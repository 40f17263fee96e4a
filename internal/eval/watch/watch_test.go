package watch

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/ui/cli"
	"kpsim/linux/compile"
	"kpsim/linux/vmlinux/shelf"
)

// waitFor waits until an ear has called and the files are other ones than before, a second at most.
func waitFor(e *ear, files []string, was state) bool {
	for end := time.After(time.Second); ; {
		select {
		case <-e.Changed:
			if stateOf(files) != was {
				return true
			}
		case <-end:
			return false
		}
	}
}

// However an editor saves, it is noticed; what isn't a save of a file that counts starts nothing.
func TestEditors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernel")
	require.NoError(t, os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "kprobes.c")
	files := []string{file, filepath.Join(dir, "missing.h")}
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("kprobes.c", "0")
	e := listen(files)
	defer e.Close()
	require.NotNil(t, e.events, "this system has events")
	for _, c := range []struct {
		what  string
		do    func(text string)
		saved bool
	}{
		{"in place", func(s string) { write("kprobes.c", s) }, true},
		{"truncated, then written in pieces", func(s string) {
			f, err := os.Create(file)
			require.NoError(t, err)
			for range 3 {
				_, err = f.WriteString(s)
				require.NoError(t, err)
			}
			require.NoError(t, f.Close())
		}, true},
		{"renamed over", func(s string) {
			write(".kprobes.c.new", s)
			require.NoError(t, os.Rename(filepath.Join(dir, ".kprobes.c.new"), file))
		}, true},
		{"as vim does", func(s string) {
			write("4913", "")
			require.NoError(t, os.Remove(filepath.Join(dir, "4913")))
			require.NoError(t, os.Rename(file, file+"~"))
			write("kprobes.c", s)
			require.NoError(t, os.Remove(file+"~"))
		}, true},
		{"as Emacs does", func(s string) {
			require.NoError(t, os.Symlink("me@here.1", filepath.Join(dir, ".#kprobes.c")))
			write("#kprobes.c#", s)
			write("kprobes.c", s)
			require.NoError(t, os.Remove(filepath.Join(dir, "#kprobes.c#")))
			require.NoError(t, os.Remove(filepath.Join(dir, ".#kprobes.c")))
		}, true},
		{"the folder is replaced, as by git", func(s string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o755))
			write("kprobes.c", s)
		}, true},
		{"a file that was missing", func(s string) { write("missing.h", s) }, true},
		{"a swap file", func(s string) { write(".kprobes.c.swp", s) }, false},
		{"the same again", func(string) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			write("kprobes.c", string(text))
		}, false},
	} {
		was := stateOf(files)
		c.do(c.what)
		if c.what == "the folder is replaced, as by git" { // whose events end with it: files are read then
			e.call()
			e.add(files)
		}
		require.Equal(t, c.saved, waitFor(e, files, was), c.what)
	}
}

// Where there are no events files are read often enough.
func TestPolling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.o")
	e := &ear{Changed: make(chan struct{}, 1), end: make(chan struct{})}
	go e.run([]string{file})
	defer e.Close()
	was := stateOf([]string{file})
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o644))
	require.True(t, waitFor(e, []string{file}, was))
}

// A tree as it was released says so, and one that doesn't compile is refused with the compiler's words. The watching
// would go on.
func TestSaves(t *testing.T) {
	path := kerneltest.Path(t, "6.12")
	release := filepath.Base(filepath.Dir(path))
	source := compile.Source(release)
	if _, err := compile.Headers(release); err != nil || source == "" {
		t.Skipf("no headers and source at hand: run scripts/fetch-kernel-source %s", release)
	}
	t.Setenv(shelf.Variable, shelf.Folder())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tree := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.CopyFS(tree, os.DirFS(source)))
	run := func() (status int, lines []jsonLine, errs string) {
		t.Helper()
		var out, words bytes.Buffer
		c := &Watch{Kernel: cli.FileName(path), Tree: cli.FileName(tree), Saves: 1, Seed: 1, JSON: true,
			Traces: filepath.Join(t.TempDir(), "traces")}
		status, err := c.Run(cli.New(&out, &words))
		require.NoError(t, err)
		for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			var j jsonLine
			require.NoError(t, json.Unmarshal([]byte(l), &j), l)
			lines = append(lines, j)
		}
		return status, lines, words.String()
	}
	status, lines, _ := run()
	require.Equal(t, cli.OK, status)
	require.Len(t, lines, 1)
	require.Equal(t, "nothing differs from the kernel's own code", lines[0].Says)

	file := filepath.Join(tree, "lib", "objpool.c")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "int x = nothing;\n"...), 0o644))
	status, lines, errs := run()
	require.Equal(t, cli.Against, status)
	require.Equal(t, "refused", lines[len(lines)-1].What)
	require.Regexp(t, `^lib/objpool.c:\d+:\d+: error: .nothing. undeclared`, lines[len(lines)-1].Says)
	require.Contains(t, errs, "int x = nothing;")
}
