package docstest

import (
	"errors"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitStatus is how a command has ended.
func exitStatus(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}
