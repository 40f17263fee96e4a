//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/regular"
)

// Only regular files are read, and only so many bytes, whatever their size is said to be.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "trip.fifo"), 0o600))
	long := filepath.Join(dir, "long")
	require.NoError(t, os.WriteFile(long, make([]byte, 100), 0o600))
	data, err := ReadFile(long, 100)
	require.NoError(t, err)
	require.Len(t, data, 100)
	_, err = ReadFile(long, 99)
	require.ErrorIs(t, err, errTooLong)
	_, err = ReadFile(dir, 99)
	require.ErrorContains(t, err, "is a directory")
	_, err = ReadFile(filepath.Join(dir, "none"), 99)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, path := range []string{filepath.Join(dir, "trip.fifo"), "/dev/zero", "/dev/tty"} {
		if _, err := os.Stat(path); err == nil {
			_, err = ReadFile(path, 99)
			require.True(t, regular.IsNot(err), path)
		}
	}
	if f, err := os.Open("/proc/kmsg"); err == nil { // it says that it is regular, and has no end
		f.Close()
		_, err = ReadFile("/proc/kmsg", 1<<30)
		require.True(t, regular.IsNot(err))
	}
	if _, err := os.Stat("/proc/self/status"); err == nil { // its size is 0
		_, err = ReadFile("/proc/self/status", 99)
		require.ErrorIs(t, err, errTooLong)
	}
}
