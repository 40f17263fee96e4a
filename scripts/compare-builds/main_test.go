package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakes makes a bench of two shell scripts in the place of builds.
func fakes(t *testing.T, old, new string) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"a": old, "z": new} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b, err := newBench(t.TempDir(),
		options{Old: filepath.Join(dir, "a"), New: filepath.Join(dir, "z"), Jobs: 1, Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a build prints, writes and ends with is compared; rates, dates and the paths
// of builds are not.
func TestRow(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"same", "echo a", "echo a", ""},
		{"stdout", "echo a; echo b", "echo a; echo c", "2: b|2: c"},
		{"stderr", "echo a >&2", "echo b >&2", "1: a|1: b"},
		{"a line more", "echo a", "echo a; echo b", "2: |2: b"},
		{"status", "echo a", "echo a; exit 1", "status 0|status 1, a"},
		{"a file", "echo a; echo b > f", "echo a; echo c > f", "3: b|3: c"},
		{"no file", "echo a; echo b > f", "echo a", "2: == f|2: "},
		{"rate", `echo '"schedules_per_s":3.1e5,"runs":2'`, `echo '"schedules_per_s":12,"runs":2'`, ""},
		{"beside a rate", `echo '"schedules_per_s":3,"runs":2'`, `echo '"schedules_per_s":3,"runs":3'`,
			`1: "schedules_per_s":RATE,"runs":2|1: "schedules_per_s":RATE,"runs":3`},
		{"date", "echo of 2026-01-02", "echo of 2026-11-30", ""},
		{"program", "echo $0 replay; pwd", "echo $0 replay; pwd", ""},
	} {
		_, _, diffs, bad := fakes(t, c.old, c.new).row(lines("row", "list"))
		if bad != nil {
			t.Errorf("%s: %v", c.name, bad)
		}
		got := ""
		if len(diffs) > 0 {
			got = diffs[0].old + "|" + diffs[0].new
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An invocation that the old build refuses, or that prints nothing, shows nothing,
// whatever the new build does.
func TestRowShowsNothing(t *testing.T) {
	for _, old := range []string{"exit 0", "echo no such flag; exit 2", "echo a bug; exit 3"} {
		if _, _, _, bad := fakes(t, old, old).row(lines("row", "list")); bad == nil {
			t.Errorf("%q passes for a result", old)
		}
	}
}

// No row is without an invocation, quick or not.
func TestRows(t *testing.T) {
	t.Chdir("../..")
	list := `[ "$1" = list ] && echo '{"scenarios":[{"name":"s1"},{"name":"s2"}],"mutants":[{"name":"m1"}]}'; exit 0`
	for _, quick := range []bool{true, false} {
		rows, err := rowsOf(fakes(t, list, list), quick)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if len(r.invocations) == 0 {
				t.Errorf("%s has no invocation", r.name)
			}
			for _, k := range r.invocations {
				if s := k.String(); strings.Contains(s, "%!") {
					t.Errorf("%s: %s", r.name, s)
				}
			}
		}
	}
}
