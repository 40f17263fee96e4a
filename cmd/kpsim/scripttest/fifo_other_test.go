//go:build !unix

package scripttest

import "github.com/rogpeppe/go-internal/testscript"

// fifo FILE: there are no named pipes here, so that nothing is there.
func cmdFIFO(ts *testscript.TestScript, neg bool, args []string) {}
