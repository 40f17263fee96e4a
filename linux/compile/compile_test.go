package compile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/compile"
	"kpsim/linux/vmlinux/shelf"
)

// tree is the files of Debian's 6.12, with a cache of the test's own.
func tree(t *testing.T) *compile.Tree {
	release := filepath.Base(filepath.Dir(kerneltest.Path(t, "6.12")))
	dir := compile.Source(release)
	if _, err := compile.Headers(release); err != nil || dir == "" {
		t.Skipf("no headers and source at hand: run scripts/fetch-kernel-source %s", release)
	}
	t.Setenv(shelf.Variable, shelf.Folder())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := &compile.Tree{Release: release, Files: make(map[string][]byte)}
	require.NoError(t, filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, at)
			c.Files[name], err = os.ReadFile(at)
		}
		return err
	}))
	return c
}

// left lists what the cache has.
func left(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "kpsim", "objects", "*"))
	require.NoError(t, err)
	return all
}

// What is compiled is kept, until it isn't as it was compiled; what doesn't compile leaves the compiler's words.
func TestObjects(t *testing.T) {
	c := tree(t)
	c.Changed = []string{"lib/objpool.c"}
	made, err := c.Objects(t.Context())
	if err != nil && strings.Contains(err.Error(), "gcc") {
		t.Skip("no compiler is at hand: ", err)
	}
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.True(t, strings.HasSuffix(made[0], "/lib/objpool.o"), made)
	require.FileExists(t, strings.TrimSuffix(made[0], ".o")+".c", "its source lies beside it")
	require.Len(t, left(t), 1)
	good, err := os.ReadFile(made[0])
	require.NoError(t, err)

	begun := time.Now()
	again, err := c.Objects(t.Context())
	require.NoError(t, err)
	require.Equal(t, made, again)
	require.Less(t, time.Since(begun), 500*time.Millisecond, "it is kept")

	require.NoError(t, os.WriteFile(made[0], []byte("\x7fELF"), 0o644))
	again, err = c.Objects(t.Context())
	require.NoError(t, err)
	require.Equal(t, made, again)
	mended, err := os.ReadFile(made[0])
	require.NoError(t, err)
	require.Equal(t, string(good), string(mended))

	c.Files["lib/objpool.c"] = append(c.Files["lib/objpool.c"], "int wrong(void) { return nothing; }\n"...)
	_, err = c.Objects(t.Context())
	f := new(compile.Failed)
	require.ErrorAs(t, err, &f)
	require.Regexp(t, `^lib/objpool.c:\d+:\d+: error: .nothing. undeclared`, f.Error())
	require.NotContains(t, f.Says, "make")
	require.Len(t, left(t), 1)
}

// A stop ends the compiler, and leaves nothing.
func TestStopped(t *testing.T) {
	c := tree(t)
	c.Changed = []string{"kernel/kprobes.c"}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	begun := time.Now()
	_, err := c.Objects(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Skip("no compiler is at hand: ", err)
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(begun), 5*time.Second)
	require.Empty(t, left(t))
}

// A release without headers is refused with what to run, and is no path.
func TestNoHeaders(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(shelf.Variable, filepath.Join(dir, "kernels"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "headers"), 0o755))
	for _, release := range []string{"1.2.3", "..", "../"} {
		_, err := (&compile.Tree{Release: release}).Objects(t.Context())
		require.ErrorContains(t, err, "run scripts/fetch-kernel-source "+release)
	}
	require.Empty(t, compile.Source(".."))
}
