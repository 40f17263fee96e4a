package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verbLinesMost bounds a file of the command: a verb is its help, and its work is elsewhere.
const verbLinesMost = 120

// No file of the command that isn't a test is long. There is no exception.
func TestFilesAreShort(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > verbLinesMost && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines, at most %d: move what the verb does to a package below internal/", name, n,
				verbLinesMost)
		}
	}
}
