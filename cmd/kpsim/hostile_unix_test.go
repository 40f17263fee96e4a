//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// fifo FILE: makes a named pipe that nothing writes to.
func cmdFIFO(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// tripwires puts what no command may open into a folder: who opens the pipe hangs.
func tripwires(t *testing.T, dir string) {
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "trip.fifo"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trip.txt"), []byte("c3"), 0o600))
}
