package all_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
)

// TestToy adds an engine to the command: its folder, and one row here. Everything
// else asks it by the seam: it is run, explored, shrunk, replayed, explained, proved,
// driven by hand and viewed.
func TestToy(t *testing.T) {
	thorough.Only(t, "13 s: it builds the command")
	dir := t.TempDir()
	kpsim := withToy(t, dir)
	toy, err := filepath.Abs("../testdata/toy")
	require.NoError(t, err)
	race, kept := filepath.Join(toy, "race.star"), filepath.Join(toy, "kept.star")
	for _, c := range []struct {
		status int
		stdin  string
		says   string
		args   []string
	}{
		{0, "", "k at f+0x0: pre_handler", []string{"run", kept}},
		{0, "", "Sometimes", []string{"explore", "--runs", "5000", race}},
		{0, "", "the same as the trace says", []string{"replay", "traces/race.kps"}},
		{0, "", "the kernel died", []string{"explain", "traces/race.kps"}},
		{0, "", "race.html", []string{"view", "--html", "race.html", "traces/race.kps"}},
		{0, "", "Sometimes: owned-breakpoint", []string{"verify", "--full", race}},
		{0, "", "Never, complete", []string{"verify", "--full", kept}},
		{0, "register k\nls\ncall f\n", "pre_handler of k", []string{"shell", kept}},
		{2, "", "mutants are of kprobes", []string{"run", "--mutant", "no-sync-1", kept}},
	} {
		cmd := exec.Command(kpsim, c.args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.stdin)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, c.status, cmd.ProcessState.ExitCode(), "%v\n%s", c.args, out)
		require.Contains(t, string(out), c.says, "%v", c.args)
	}
	trace, err := os.ReadFile(filepath.Join(dir, "traces/race.kps"))
	require.NoError(t, err)
	require.Contains(t, string(trace), `engine = "toy"`)
	page, err := os.ReadFile(filepath.Join(dir, "race.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "toy: breakpoint written")
}

// withToy builds the command with one row more, and returns where it is.
func withToy(t *testing.T, dir string) string {
	t.Helper()
	rows, err := os.ReadFile("all.go")
	require.NoError(t, err)
	more := strings.Replace(string(rows), "import (\n", "import (\n\t\"kpsim/engine/testdata/toy\"\n", 1)
	more = strings.Replace(more, "\t&plug.Row,\n", "\t&plug.Row,\n\t&toy.Row,\n", 1)
	require.Len(t, strings.Split(more, "\n"), len(strings.Split(string(rows), "\n"))+2)
	at := filepath.Join(dir, "all.go")
	require.NoError(t, os.WriteFile(at, []byte(more), 0o644))
	own, err := filepath.Abs("all.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {own: at}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644))
	kpsim := filepath.Join(dir, "kpsim")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", kpsim,
		"../../cmd/kpsim").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return kpsim
}
