package version

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/regular"
)

// ofClone returns the commit of the clone that the program was compiled in, if go run has
// just compiled it, else "".
func ofClone() string {
	exe, err := os.Executable()
	if err != nil || !byGoRun(exe) {
		return ""
	}
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // -trimpath
		return ""
	}
	return head(filepath.Dir(filepath.Dir(filepath.Dir(file))))
}

// kept is the folder in Go's build cache that holds a program of go run.
var kept = lazyregexp.New(`^[0-9a-f]{64}-d$`)

// byGoRun reports whether go run has compiled a program: such ones are in a folder of
// go's for the time of the command, or in its build cache, where they are found again
// only as long as the source is the same.
func byGoRun(exe string) bool {
	dir := filepath.Dir(exe)
	fresh := filepath.Base(dir) == "exe" && strings.Contains(filepath.ToSlash(dir), "/go-build")
	return fresh || kept().MatchString(filepath.Base(dir))
}

var hash = lazyregexp.New(`^[0-9a-f]{40,64}$`)

// head returns the commit that a clone of kpsim is at, "" if the folder is none or its
// commit can't be read.
func head(clone string) string {
	if first, _, _ := strings.Cut(read(clone, "go.mod"), "\n"); strings.TrimSpace(first) != "module "+Module {
		return ""
	}
	git := filepath.Join(clone, ".git")
	if link, ok := strings.CutPrefix(read(clone, ".git"), "gitdir: "); ok { // a worktree's
		git = within(clone, link)
	}
	shared := git
	if dir := read(git, "commondir"); dir != "" {
		shared = within(git, dir)
	}
	at := read(git, "HEAD")
	ref, ok := strings.CutPrefix(at, "ref: ")
	if ok && filepath.IsLocal(ref) {
		if at = read(git, ref); at == "" {
			at = read(shared, ref)
		}
		for line := range strings.Lines(read(shared, "packed-refs")) {
			if h, name, _ := strings.Cut(strings.TrimSpace(line), " "); at == "" && name == ref {
				at = h
			}
		}
	}
	if !hash().MatchString(at) {
		return ""
	}
	return at
}

// within is a path that may be relative to a folder.
func within(dir, path string) string {
	path = strings.TrimSpace(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// read returns what a file holds, up to a megabyte, without the blanks around it; "" if it
// can't be read.
func read(dir, name string) string {
	f, _, err := regular.Open(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
