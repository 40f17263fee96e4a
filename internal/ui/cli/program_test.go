package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is whole or isn't there, and no other file is left.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.kps")
	for _, data := range []string{"one", "two"} {
		if err := WriteWhole(path, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != data {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "y.kps"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(filepath.Join(dir, "y.kps"), nil); err == nil {
		t.Error("wrote over a directory")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestShell(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{"go run ./cmd/kpsim replay a.kps", Line("go run ./cmd/kpsim", "replay", "a.kps")},
		{"kpsim replay 'a b.kps'", Line("kpsim", "replay", "a b.kps")},
		{`kpsim replay 'it'\''s'`, Line("kpsim", "replay", "it's")},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestGoRun: a program of go run is known wherever Go's cache is.
func TestGoRun(t *testing.T) {
	for exe, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/kpsim":                            true,
		"/home/me/.go/b7/b7" + strings.Repeat("0a", 31) + "-d/kpsim": true,
		"/home/me/bin/kpsim":                                         false,
		"/home/b7/b7-d/kpsim":                                        false,
	} {
		if goRun(exe) != want {
			t.Errorf("%s: %v, want %v", exe, !want, want)
		}
	}
}
