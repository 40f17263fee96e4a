package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// README.md shows lines that overhead prints: each of the command before it.
func TestReadmeOverhead(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## What probes cost\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var command, out string
	shown := 0
	for line := range strings.Lines(section) {
		line, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		if of, is := strings.CutPrefix(line, "go run ./cmd/kpsim "); is {
			command, out = of, ""
			continue
		}
		if out == "" {
			out = printed(t, strings.Fields(command))
		}
		shown++
		if !strings.Contains(out, line) {
			t.Errorf("README.md shows %q, which %s doesn't print", line, command)
		}
	}
	if shown < 10 {
		t.Errorf("README.md shows %d lines of it", shown)
	}
}

func printed(t *testing.T, args []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, &out, &errs); status != exitOK {
		t.Fatalf("%v: status %d: %s", args, status, &errs)
	}
	return out.String()
}
