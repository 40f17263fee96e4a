package vmlinux_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// What a vmlinuz holds is kept under its digest, and is what is read from then on; what
// was cut off or changed, or isn't a file, is made again; without a place for it the
// kernel is unpacked.
func TestKept(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	folder := filepath.Join(cache, "kpsim", "unpacked")
	padding := make([]byte, 5<<20) // that doesn't compress
	rand.NewChaCha8([32]byte{}).Read(padding)
	write := func(name string, kernel []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, kerneltest.Vmlinuz(kernel, "gzip"), 0o644))
		return path
	}
	open := func(path string) {
		im, err := vmlinux.Open(path)
		require.NoError(t, err)
		require.NotEmpty(t, im.Symbols())
	}
	files := func() (list []string) {
		all, _ := filepath.Glob(filepath.Join(folder, "*"))
		return all
	}

	open(write("small", kerneltest.Fake{}.ELF()))
	require.Empty(t, files(), "it is unpacked in no time")

	large := write("large", append(kerneltest.Fake{}.ELF(), padding...))
	open(large)
	require.Len(t, files(), 1)
	whole, err := os.ReadFile(files()[0])
	require.NoError(t, err)

	old := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(files()[0], old, old))
	first, err := os.Stat(files()[0])
	require.NoError(t, err)
	open(large)
	second, err := os.Stat(files()[0])
	require.NoError(t, err)
	require.True(t, os.SameFile(first, second), "it is written once")
	require.True(t, second.ModTime().After(old), "its use is noted")

	for what, bad := range map[string][]byte{"cut off": whole[:len(whole)/2], "empty": {},
		"changed": append(append([]byte(nil), whole[:len(whole)-1]...), ^whole[len(whole)-1])} {
		require.NoError(t, os.WriteFile(files()[0], bad, 0o600))
		open(large)
		now, err := os.ReadFile(files()[0])
		require.NoError(t, err)
		require.Equal(t, whole, now, what)
	}

	for i := range 12 {
		open(write("more", append(kerneltest.Fake{}.ELF(), padding[i:]...)))
	}
	require.Len(t, files(), 8)
	for _, f := range files() {
		require.False(t, strings.HasPrefix(filepath.Base(f), "new-"))
	}

	blocked := filepath.Join(dir, "blocked")
	require.NoError(t, os.WriteFile(blocked, nil, 0o644))
	t.Setenv("XDG_CACHE_HOME", blocked)
	open(large)
}
