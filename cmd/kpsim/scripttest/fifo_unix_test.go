//go:build unix

package scripttest

import (
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// fifo FILE: makes a named pipe that nothing writes to.
func cmdFIFO(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}
