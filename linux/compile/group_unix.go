//go:build unix

package compile

import (
	"os/exec"
	"syscall"
)

// inGroup makes a program that isn't started yet begin a group, with all that it starts.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends a program and all that it started.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
