package kpsim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folderFilesMax = 25

// largeFolders may have more files than others, and why.
var largeFolders = map[string]string{
	"internal/scenario":      "one file a part",
	"internal/scenario/lang": "one language: its words, as they are read, printed, and made from Go",

	"kprobes":    "one file a part of the engine, and a processor",
	"linux":      "one file a part of what a kernel calls, and a processor",
	"properties": "one file a property",
	"sched":      "one file a strategy, and what proofs stand on",
	"smp":        "one machine, whose parts share its fields",
}

// A folder has at most 25 Go files that aren't tests: more are two jobs.
func TestFolders(t *testing.T) {
	h := &house{t: t, root: "."}
	dirs := h.dirs()
	if len(dirs) < 20 {
		t.Fatal("the tree wasn't read:", dirs)
	}
	for _, dir := range dirs {
		n := len(goFiles(t, filepath.FromSlash(dir)))
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "doc.go")); n > 0 && err != nil &&
			!strings.HasPrefix(dir, "scripts/") {
			t.Errorf("%s has no doc.go, which says what it is, what it isn't, its rule and its limits", dir)
		}
		if _, large := largeFolders[dir]; large != (n > folderFilesMax) {
			t.Errorf("%s has %d files; at most %d, but for those in largeFolders", dir, n, folderFilesMax)
		}
	}
}
