//go:build unix

package patches_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/patches"
)

// A tree of a folder reads regular files only, none through a link out of it, and never writes there.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(out, []byte(source), 0o644))
	in := filepath.Join(dir, "in")
	require.NoError(t, os.MkdirAll(filepath.Join(in, "kernel"), 0o755))
	tree, err := patches.Open(in)
	require.NoError(t, err)
	at := filepath.Join(in, "kernel", "a.c")
	list, err := patches.Read([]byte(diff))
	require.NoError(t, err)
	for name, do := range map[string]func() error{
		"a link":   func() error { return os.Symlink(out, at) },
		"a pipe":   func() error { return syscall.Mkfifo(at, 0o644) },
		"a folder": func() error { return os.Mkdir(at, 0o755) },
	} {
		require.NoError(t, do())
		_, err := tree.Apply(list[0])
		require.ErrorContains(t, err, "is no regular file", name)
		require.NoError(t, os.Remove(at))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(in, "kernel")))
	require.NoError(t, os.Symlink(dir, filepath.Join(in, "kernel")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o644))
	_, err = tree.Apply(list[0])
	require.Error(t, err, "through a link out of the tree")
	require.NoError(t, os.Remove(filepath.Join(in, "kernel")))
	require.NoError(t, os.Mkdir(filepath.Join(in, "kernel"), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(source), 0o644))
	_, err = tree.Apply(list[0])
	require.NoError(t, err)
	was, err := os.ReadFile(at)
	require.NoError(t, err)
	require.Equal(t, source, string(was))
}
