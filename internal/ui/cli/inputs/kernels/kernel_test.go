package kernels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/linux/vmlinux/shelf"
)

// A release that isn't on this computer is answered with those that are: the ones spelt like it, else all.
func TestKernelOnShelf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(shelf.Variable, dir)
	_, err := (&Kernel{Kernel: "6.12"}).Open()
	require.EqualError(t, err, "--kernel: 6.12: no such file or directory; in "+dir+
		", where scripts/fetch-kernel puts kernels, is no release")
	for _, release := range []string{"6.1.0-56-amd64", "6.12.117+deb12-amd64"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, release), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, release, "vmlinuz"), nil, 0o644))
	}
	_, err = (&Kernel{Kernel: "6.12"}).Open()
	require.EqualError(t, err, "--kernel: 6.12: no such file or directory; did you mean 6.12.117+deb12-amd64?")
	_, err = (&Kernel{Kernel: "3.2"}).Open()
	require.EqualError(t, err, "--kernel: 3.2: no such file or directory; of releases, "+dir+
		" has 6.1.0-56-amd64, 6.12.117+deb12-amd64")
	require.Equal(t, filepath.Join(dir, "6.1.0-56-amd64", "vmlinuz"), string(Path("6.1.0-56-amd64")))
	_, err = (&Kernel{Kernel: "vmlinuz"}).Open()
	require.EqualError(t, err, "--kernel: vmlinuz: no such file or directory")
}
