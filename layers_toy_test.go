package kpsim_test

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

// TestToy adds a processor, testdata/toy, by a folder of smp/arch and a row. The command then scripts,
// explores, proves, replays, lists and shows programs of it. It builds most of kpsim once more.
func TestToy(t *testing.T) {
	thorough.Only(t, "it builds most of kpsim once more, a minute")
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	const rows = "smp/arch/target/target.go"
	src, err := os.ReadFile(rows)
	require.NoError(t, err)
	text := string(src)
	for _, line := range [][2]string{
		{"\t\"kpsim/smp/arch/x86\"\n", "\t\"kpsim/smp/arch/toy\"\n"},
		{"\tARM64\n", "\tToy\n"},
		{"var rows = [...]row{\n", "\tToy: {word: \"toy\", arch: toy.Row, short: toy.Row, linux: toy.Row},\n"},
	} {
		require.Equal(t, 1, strings.Count(text, line[0]), line[0])
		text = strings.Replace(text, line[0], line[0]+line[1], 1)
	}
	changed := filepath.Join(dir, "target.go")
	require.NoError(t, os.WriteFile(changed, []byte(text), 0o666))
	replace := map[string]string{filepath.Join(here, rows): changed}
	sources, err := filepath.Glob("testdata/toy/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, s := range sources {
		replace[filepath.Join(here, "smp/arch/toy", filepath.Base(s))] = filepath.Join(here, s)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o666))

	kpsim := filepath.Join(dir, "kpsim")
	out, err := exec.Command("go", "build", "-overlay", file, "-o", kpsim, "./cmd/kpsim").CombinedOutput()
	require.NoError(t, err, "%s", out)
	programs := filepath.Join(here, "testdata/toy")
	never, sometimes := filepath.Join(programs, "never.star"), filepath.Join(programs, "sometimes.star")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"explore", "--runs", "300", never, sometimes}, "2 scenarios, 600 runs: 2 as expected"},
		{[]string{"verify", "--full", never}, "Never, complete under fetch model stale"},
		{[]string{"replay", "traces/sometimes.kps"}, "li r1,0x1"},
		{[]string{"view", "--html", "page.html", "traces/sometimes.kps"}, "page.html"},
		{[]string{"disasm", sometimes, "f"}, "2010  add r0,r1"},
	} {
		cmd := exec.Command(kpsim, c.args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", c.args, out)
		require.Contains(t, string(out), c.says, c.args)
	}
}
