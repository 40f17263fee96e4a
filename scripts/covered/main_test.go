package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExcused: each line names a file and a function that are there, and a reason.
func TestExcused(t *testing.T) {
	t.Chdir("../..")
	list, err := readExcuses(excusedText)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, e := range list {
		source, err := os.ReadFile(e.file)
		require.NoError(t, err)
		if e.function != "-" {
			require.Regexp(t, `(?m)^func (\([^)]*\) )?`+e.function+`\b`, string(source), e.file)
		}
		if e.text != "*" {
			require.Contains(t, string(source), e.text, "%s: %s", e.file, e.function)
		}
	}
}

// TestReport: what isn't run counts unless it is excused, and an excuse of what is run, or
// isn't there, is stale.
func TestReport(t *testing.T) {
	of := func(function, text string, run bool) block {
		return block{file: "a.go", function: function, text: text, statements: 10, run: run}
	}
	for _, c := range []struct {
		excuses string
		blocks  []block
		enough  bool
	}{
		{"", []block{of("f", "x", true)}, true},
		{"", []block{of("f", "x", true), of("f", "y", false)}, false},
		{"a.go\tf\ty\twhy", []block{of("f", "x", true), of("f", "y", false)}, true},
		{"a.go\tg\t*\twhy", []block{of("f", "x", true), of("g", "y", false), of("g", "z", false)}, true},
		{"a.go\tf\tx\twhy", []block{of("f", "x", true)}, false},
		{"a.go\tf\tgone\twhy", []block{of("f", "x", true)}, false},
	} {
		list, err := readExcuses(c.excuses)
		require.NoError(t, err)
		require.Equal(t, c.enough, report(c.blocks, list, 98), c.excuses)
	}
	_, err := readExcuses(strings.Repeat("# fine\n", 2) + "a.go f y why")
	require.ErrorContains(t, err, "excused.txt:3: ")
}

// TestProfile: a profile is read, and blocks outside the rooms don't count.
func TestProfile(t *testing.T) {
	t.Chdir("../..")
	profile := t.TempDir() + "/profile"
	require.NoError(t, os.WriteFile(profile,
		[]byte("mode: set\nkpsim/kprobes/locks.go:1.1,2.1 3 1\nkpsim/sim/bug.go:1.1,2.1 3 0\n"), 0o666))
	enough, err := run(&options{Profile: profile, Least: 98})
	require.NoError(t, err)
	require.False(t, enough, "all excuses are stale")
	require.NoError(t, os.WriteFile(profile, []byte("mode: set\nkpsim/sim/bug.go:1.1,2.1 3 0\n"), 0o666))
	_, err = run(&options{Profile: profile})
	require.ErrorContains(t, err, "has no statement of kprobes and smp/kernel")
}
