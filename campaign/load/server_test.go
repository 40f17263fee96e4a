package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
)

// profiling is added to the program for a profile.
const profiling = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

func init() { go http.ListenAndServe(os.Getenv("KPSIM_PPROF"), nil) }
`

const profileAt = "127.0.0.1:6167"

// built builds the program.
func built(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "kpsim-campaign")
	args := []string{"build", "-o", exe}
	if *profile != "" {
		here, err := os.Getwd()
		require.NoError(t, err)
		added, overlay := filepath.Join(dir, "pprof.go"), filepath.Join(dir, "overlay.json")
		require.NoError(t, os.WriteFile(added, []byte(profiling), 0o644))
		data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here,
			"../cmd/kpsim-campaign/pprof.go"): added}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(overlay, data, 0o644))
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.Command("go", append(args, "kpsim/campaign/cmd/kpsim-campaign")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

// A server is kpsim-campaign serve in a process.
type server struct {
	testing.TB
	exe, dir string
	cmd      *exec.Cmd
	said     bytes.Buffer
}

func (s *server) start() {
	s.Helper()
	_ = os.Remove(filepath.Join(s.dir, "url"))
	s.cmd = exec.Command(s.exe, "serve", "--dir", s.dir)
	s.cmd.Env = append(os.Environ(), "KPSIM_PPROF="+profileAt)
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(s, s.cmd.Start())
	require.Eventually(s, func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "url"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

func (s *server) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// client connects to it, and waits for its coordinator.
func (s *server) client() gate.Client {
	s.Helper()
	nc, err := s.join(hub.Client)
	require.NoError(s, err)
	s.Cleanup(nc.Close)
	c := gate.Client{Conn: nc}
	require.NoError(s, c.Ready(s.Context()))
	return c
}

func (s *server) join(role string) (*nats.Conn, error) { return (&hub.Where{Dir: s.dir}).Connect(role) }

// processor is how much processor time the process has had.
func (s *server) processor() time.Duration {
	s.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	require.NoError(s, err)
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+2:]))
	user, err := strconv.Atoi(f[11])
	require.NoError(s, err)
	system, err := strconv.Atoi(f[12])
	require.NoError(s, err)
	return time.Duration(user+system) * 10 * time.Millisecond // a hundred ticks a second, on any Linux
}

// memory is how much of the process is in memory, and the most that was, in megabytes.
func (s *server) memory() string {
	s.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s, err)
	var now, most int
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &most)
	}
	return fmt.Sprintf("%d MB, at most %d MB", now>>10, most>>10)
}

// record writes profiles of some seconds and of the memory, if one is asked for.
func (s *server) record(name string, seconds int) {
	s.Helper()
	if *profile == "" {
		return
	}
	for at, file := range map[string]string{fmt.Sprintf("profile?seconds=%d", seconds): name + "." + *profile,
		"heap": name + "-heap." + *profile} {
		r, err := http.Get("http://" + profileAt + "/debug/pprof/" + at)
		require.NoError(s, err)
		data, err := io.ReadAll(r.Body)
		r.Body.Close()
		require.NoError(s, err)
		require.NoError(s, os.WriteFile(file, data, 0o644))
	}
}
