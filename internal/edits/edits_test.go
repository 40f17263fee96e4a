package edits_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/edits"
	"kpsim/internal/patches"
	"kpsim/linux/vmlinux/shelf"
)

// release makes a shelf with a release whose source and headers are a few words.
func release(t *testing.T) (dir string) {
	shelved := t.TempDir()
	t.Setenv(shelf.Variable, shelved)
	for name, text := range map[string]string{"headers/.config": "", "source/kernel/kprobes.c": "a\nb\n",
		"source/arch/x86/kernel/kprobes/common.h": "c\n"} {
		path := filepath.Join(shelved, "1.2.3", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return filepath.Join(shelved, "1.2.3", "source")
}

// change is a diff that makes of a file's line another one.
func change(name, was, now string) string {
	return "--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-" + was + "\n+" + now + "\n"
}

func read(t *testing.T, diff string) []*patches.Patch {
	list, err := patches.Read([]byte(diff))
	require.NoError(t, err)
	return list
}

// What isn't compiled is named, with the reason; the source stays as it is.
func TestApply(t *testing.T) {
	dir := release(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("a\n"), 0o644))
	e, err := edits.Of("1.2.3", "")
	require.NoError(t, err)
	require.NoError(t, e.Apply(read(t, change("kernel/kprobes.c", "a", "A")+change("MAINTAINERS", "x", "y")+
		change("README", "a", "b")), "my.patch"))
	require.Equal(t, []string{"MAINTAINERS: the source doesn't have it", "README: it isn't compiled"}, e.Left)
	require.Len(t, e.Changed(), 1)
	require.Equal(t, 3-1, e.Removed)
	was, err := os.ReadFile(filepath.Join(dir, "kernel", "kprobes.c"))
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", string(was))
}

// A patch that changes nothing that is compiled, or that doesn't apply, is refused with what to do.
func TestRefused(t *testing.T) {
	dir := release(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("a\n"), 0o644))
	for _, c := range []struct{ diff, says string }{
		{change("README", "a", "b"), "nothing that it changes is compiled: README: it isn't compiled; the engine's files are"},
		{change("kernel/kprobes.c", "x", "b"), `my.patch: hunk 1 of 1 of kernel/kprobes.c:1 doesn't apply: the source has "a" where the patch wants "x"; give the source`},
		{change("drivers/x.c", "x", "b"), "my.patch: the source has none of its files: drivers/x.c; give the source"},
	} {
		e, err := edits.Of("1.2.3", dir)
		require.NoError(t, err)
		require.ErrorContains(t, e.Apply(read(t, c.diff), "my.patch"), c.says)
	}
	_, err := edits.Of("1.2.4", dir)
	require.ErrorContains(t, err, "run scripts/fetch-kernel-source 1.2.4")
	_, err = edits.Of("1.2.3", t.TempDir())
	require.ErrorContains(t, err, "has no kernel/kprobes.c; give the folder of a kernel's source")
}

// Differing lists what a folder has otherwise than the release.
func TestDiffering(t *testing.T) {
	release(t)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "kernel"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernel", "kprobes.c"), []byte("a\nB\n"), 0o644))
	e, err := edits.Of("1.2.3", dir)
	require.NoError(t, err)
	names, err := e.Differing()
	require.NoError(t, err)
	require.Equal(t, []string{"kernel/kprobes.c"}, names)
}
