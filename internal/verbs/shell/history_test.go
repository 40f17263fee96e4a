package shell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
)

// The history is a file of the user's alone, and holds the latest lines only.
func TestHistory(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	path, err := historyPath()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(state, "kpsim", "shell-history"), path)
	h := &history{path}
	lines, err := h.read()
	require.NoError(t, err)
	require.Empty(t, lines)
	for _, l := range []string{"run", "where", "where", " ", "a\x1b[2J", "\xff", strings.Repeat("x", longestKept+1)} {
		require.NoError(t, h.add(l))
	}
	lines, err = h.read()
	require.NoError(t, err)
	require.Equal(t, []string{"run", "where"}, lines)
	s, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), s.Mode().Perm())

	many := new(bytes.Buffer)
	for i := range 2 * mostHistory {
		fmt.Fprintln(many, "step", i)
	}
	require.NoError(t, os.WriteFile(path, many.Bytes(), 0o644))
	require.NoError(t, h.add("dmesg"))
	lines, err = h.read()
	require.NoError(t, err)
	require.Len(t, lines, mostHistory)
	require.Equal(t, "dmesg", lines[mostHistory-1])
	s, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), s.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file is left")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	var says bytes.Buffer
	require.Nil(t, h.lost(cli.New(&says, &says), h.add("run")))
	require.Equal(t, "the history isn't kept: "+path+": is a directory\n", says.String())
}

// Tab knows commands, filters, names and files.
func TestComplete(t *testing.T) {
	h, _ := begun(t, "safe-full", 0)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("mine.kps", nil, 0o600))
	require.NoError(t, os.WriteFile("other.txt", nil, 0o600))
	require.NoError(t, os.Mkdir("minor", 0o700))
	for line, want := range map[string]string{
		"regi":                             "register ",
		"reg":                              "register,regs",
		"text ":                            "victim ",
		"call vi":                          "victim ",
		"register ":                        "k ",
		"break TextS":                      "TextStore ",
		"break whole":                      "whole-instructions ",
		"cat /sys/kernel/debug/kprobes/li": "/sys/kernel/debug/kprobes/list ",
		"echo 1 >ena":                      "enabled ",
		"open torn-jump-":                  "torn-jump-bp ",
		"open min":                         "mine.kps,minor/",
		"dmesg | ta":                       "tail ",
		"dmesg |ta":                        "tail ",
		"dmesg | tail ":                    "",
		"start pro":                        "prober ",
		"sysctl d":                         "debug.kprobes-optimization ",
		"delete ":                          "all ",
		"nosuch x":                         "",
	} {
		_, got, tail := h.complete(line, len(line))
		if s := strings.Join(got, ","); s != want || tail != "" {
			t.Errorf("%q: %q, want %q", line, s, want)
		}
	}
	head, got, tail := h.complete("call vi 3 5", 7)
	require.Equal(t, []string{"call ", "victim ", " 3 5"}, []string{head, got[0], tail})
	head, got, _ = h.complete("é", 1)
	require.Equal(t, "", head)
	require.Empty(t, got)
	require.True(t, slices.IsSorted(func() []string { _, all, _ := h.complete("", 0); return all }()))
}

// Tab lists how many words begin: the editor asks nothing. Their common beginning is
// completed all the same.
func TestCompleteMany(t *testing.T) {
	h, _ := begun(t, "safe-full", 0)
	for _, line := range []string{"", "break ", "open ", "help "} {
		_, got, _ := h.complete(line, len(line))
		require.LessOrEqual(t, len(got), mostOffered, line)
	}
	_, got, _ := h.complete("break ", 6)
	require.Contains(t, got, "T…")
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("mine%02d", i))
	}
	require.Equal(t, []string{"mine0…", "mine1…"}, fewer(slices.Clone(names))[:2])
	names = names[:0]
	for i := range 200 {
		names = append(names, "é"+string(rune(0x4e00+i)))
	}
	require.Len(t, fewer(names), mostOffered)
}
