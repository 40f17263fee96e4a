package deploy

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScript: bash and shellcheck find nothing in slurm.sh.
func TestScript(t *testing.T) {
	for _, args := range [][]string{{"bash", "-n", "slurm.sh"}, {"shellcheck", "slurm.sh"}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("no %s is here", args[0])
			continue
		}
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// A session is a folder with a server that runs until the test ends.
type session struct {
	t   *testing.T
	dir string
	env []string
}

func newSession(t *testing.T) *session {
	dir := t.TempDir()
	path := filepath.Dir(program) + string(filepath.ListSeparator) + dir + string(filepath.ListSeparator) +
		os.Getenv("PATH")
	return &session{t, dir, append(os.Environ(), "PATH="+path, "HOME="+dir, "XDG_CACHE_HOME="+
		filepath.Join(dir, "cache"))}
}

// patience is how long a command may take; a computer that does other things, too, is slow.
const patience = 2 * time.Minute

func (s *session) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// start runs a program until the test ends, if it doesn't end before.
func (s *session) start(cmd *exec.Cmd) {
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() { // before its context ends, which was made before
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
	})
}

// folder is that of the server.
func (s *session) folder() string { return filepath.Join(s.dir, "cache", "kpsim", "campaign") }

// url waits for the server.
func (s *session) url() string {
	var url []byte
	require.Eventually(s.t, func() bool {
		url, _ = os.ReadFile(filepath.Join(s.folder(), "url"))
		return len(url) > 0
	}, time.Minute, 20*time.Millisecond)
	return strings.TrimSpace(string(url))
}

// TestSlurm runs the script as Slurm does, beside a server.
func TestSlurm(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash is here")
	}
	script, err := filepath.Abs("slurm.sh")
	require.NoError(t, err)
	s := newSession(t)
	s.start(s.command(program, "serve"))
	s.env = append(s.env, "KPSIM_SERVER="+s.url(), "KPSIM_KEY="+filepath.Join(s.folder(), "worker.nk"),
		"SLURM_CPUS_PER_TASK=2", "SLURM_JOB_ID=77")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "scontrol"), []byte("#!/bin/sh\necho \"$@\" >asked\n"), 0o755))

	for _, c := range []struct {
		name   string
		signal os.Signal
		asked  string
	}{
		{"time", syscall.SIGUSR1, "requeue 77\n"},
		{"cancelled", syscall.SIGTERM, ""},
		{"idle", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said bytes.Buffer
			cmd := s.command("bash", script)
			if c.signal == nil {
				cmd.Env = append(cmd.Env, "KPSIM_IDLE=1s")
			}
			cmd.Stdout, cmd.Stderr = &said, &said
			require.NoError(t, cmd.Start())
			if c.signal != nil { // once it has made something
				out, err := s.command(program, "start", "--wait", "--runs", "1000", "torn-jump").CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.Contains(t, string(out), "of 1000 runs  as expected")
				require.NoError(t, cmd.Process.Signal(c.signal))
			}
			require.NoError(t, cmd.Wait(), "%s", &said)
			asked, _ := os.ReadFile(filepath.Join(s.dir, "asked"))
			require.Equal(t, c.asked, string(asked), "%s", &said)
			_ = os.Remove(filepath.Join(s.dir, "asked"))
		})
	}

	cmd := s.command("bash", script)
	cmd.Env = append(cmd.Env, "KPSIM_KEY=")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "set it to the file worker.nk")
}
