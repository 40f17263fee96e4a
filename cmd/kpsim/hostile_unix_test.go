//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// tripwires puts what no command may open into a folder: a command that opens
// the pipe hangs.
func tripwires(t *testing.T, dir string) {
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "trip.fifo"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trip.txt"), []byte("c3"), 0o600))
}
