package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// README.md shows lines that overhead prints.
func TestReadmeOverhead(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## What probes cost\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var out, errs bytes.Buffer
	if status := run([]string{"overhead", "--machine", "xeon-e5410/x86_64"}, &out, &errs); status != exitOK {
		t.Fatalf("status %d: %s", status, &errs)
	}
	shown := 0
	for line := range strings.Lines(section) {
		line, indented := strings.CutPrefix(line, "    ")
		if !indented || strings.HasPrefix(line, "go run") {
			continue
		}
		shown++
		if !strings.Contains(out.String(), line) {
			t.Errorf("README.md shows %q, which isn't printed", line)
		}
	}
	if shown == 0 {
		t.Error("README.md shows nothing of it")
	}
}
