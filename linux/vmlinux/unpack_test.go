package vmlinux_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// A payload out of which comes more than any kernel has is given up before it is
// whole, in whatever way it is compressed, and also if it begins as a kernel does.
func TestBombs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const size = 100 << 20
	begun := make([]byte, size)
	copy(begun, kerneltest.Fake{}.ELF())
	for what, out := range map[string][]byte{"zeros": make([]byte, size), "kernel": begun} {
		for _, how := range packers {
			t.Run(what+" "+how, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "vmlinuz")
				bomb := kerneltest.Vmlinuz(out, how)
				// What isn't read makes the size that is claimed a plausible one.
				rest := make([]byte, len(out)/20)
				rand.NewChaCha8([32]byte{}).Read(rest)
				require.NoError(t, os.WriteFile(path, padded(bomb, rest), 0o644))
				_, err := vmlinux.Open(path)
				require.ErrorContains(t, err, path+": "+how+" payload: ")
				if what == "zeros" {
					require.ErrorContains(t, err, "is no ELF file")
				} else {
					require.ErrorContains(t, err, "this is no kernel")
				}
			})
		}
	}
}

// padded is a vmlinuz with more bytes in its payload, before the size that this ends with.
func padded(vmlinuz, more []byte) []byte {
	n := len(vmlinuz) - 4
	out := append(append(append([]byte(nil), vmlinuz[:n]...), more...), vmlinuz[n:]...)
	return kerneltest.Resized(out)
}

// What isn't a kernel isn't kept, however many of them are opened, and leaves the kernels that
// are where they are.
func TestKeptKernels(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	padding := make([]byte, 5<<20) // that doesn't compress
	rand.NewChaCha8([32]byte{}).Read(padding)
	open := func(name string, content []byte, how string) error {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, kerneltest.Vmlinuz(content, how), 0o644))
		_, err := vmlinux.Open(path)
		return err
	}
	files := func() []string {
		all, _ := filepath.Glob(filepath.Join(cache, "kpsim", "unpacked", "*"))
		return all
	}
	require.NoError(t, open("kernel", append(kerneltest.Fake{}.ELF(), padding...), "zstd"))
	require.Len(t, files(), 1)
	kernel := kerneltest.Fake{}.ELF()
	clear(kernel[len(kernel)/2:]) // its section headers are gone
	for i := range 10 {
		require.Error(t, open("other", append(kernel, padding[i:]...), packers[i%2*2]))
	}
	for i := range 10 {
		require.Error(t, open("other", padding[i:], packers[i%2*2]))
	}
	require.Len(t, files(), 1)
}
