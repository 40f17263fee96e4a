//go:build !unix

package compile

import "os/exec"

// inGroup does nothing where there are no groups.
func inGroup(*exec.Cmd) {}

// endGroup ends a program.
func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
