package kernels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/linux/vmlinux/shelf"
)

// A release in the place of a file is answered with the kernel's file, if it is there.
func TestKernelOnShelf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(shelf.Variable, dir)
	for _, release := range []string{"6.1.0-56-amd64", "6.12.117+deb12-amd64"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, release), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, release, "vmlinuz"), nil, 0o644))
	}
	_, err := (&Kernel{Kernel: "6.12"}).Open()
	require.EqualError(t, err, "--kernel: 6.12: no such file or directory; did you mean "+
		filepath.Join(dir, "6.12.117+deb12-amd64", "vmlinuz")+"?")
	_, err = (&Kernel{Kernel: "vmlinuz"}).Open()
	require.EqualError(t, err, "--kernel: vmlinuz: no such file or directory")
}
