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
	var out, errs bytes.Buffer
	shown := 0
	for line := range strings.Lines(section) {
		line, indented := strings.CutPrefix(line, "    ")
		command, is := strings.CutPrefix(line, "go run ./cmd/kpsim ")
		switch {
		case !indented:
		case is:
			out.Reset()
			command, _, _ = strings.Cut(command, "#")
			if status := run(strings.Fields(command), &out, &errs); status != exitOK {
				t.Fatalf("%s: status %d: %s", command, status, &errs)
			}
		default:
			shown++
			if !strings.Contains(out.String(), line) {
				t.Errorf("README.md shows %q, which isn't printed", line)
			}
		}
	}
	if shown < 10 {
		t.Errorf("README.md shows %d lines of it", shown)
	}
}
