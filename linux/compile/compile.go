package compile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kpsim/internal/kept"
	"kpsim/linux/vmlinux/shelf"
	"kpsim/scripts"
)

// A Tree is the files that a kernel's files are compiled from.
type Tree struct {
	Release string            // as uname -r prints it
	Files   map[string][]byte // by path in the kernel's tree
	Changed []string          // of these, the .c, .S and .h files that changed, in any order
}

// Most is the maximum number of sets of objects that are kept.
const Most = 48

// listed is the file of a set that names its objects, with their digests.
const listed = "objects.sha256"

// A Failed is a file that doesn't compile.
type Failed struct {
	Says string // what the compiler said, with paths of the tree
}

// Error implements error. It is one line.
func (f *Failed) Error() string {
	for line := range strings.Lines(f.Says) {
		if strings.Contains(line, "error: ") {
			return strings.TrimSpace(line)
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(f.Says), "\n")
	return cmp.Or(first, "make failed and says nothing")
}

// Headers returns the folder of a release's headers. The error says how to get them.
func Headers(release string) (string, error) {
	dir := of(release, "headers")
	if dir == "" {
		return "", fmt.Errorf("no headers of %s are at hand to compile with; run scripts/fetch-kernel-source %s",
			release, release)
	}
	return dir, nil
}

// Source returns the folder of a release's source files as scripts/fetch-kernel-source puts it, "" if there is none.
func Source(release string) string { return of(release, "source") }

// of returns a folder of a release on the shelf, "" if there is none. A release is no path.
func of(release, name string) string {
	dir := filepath.Join(shelf.Folder(), release, name)
	if !filepath.IsLocal(release) || filepath.Base(release) != release || release == "." {
		return ""
	}
	if s, err := os.Stat(dir); err != nil || !s.IsDir() {
		return ""
	}
	return dir
}

// Folder returns where sets of objects are kept.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "kpsim", "objects"), nil
}

// Objects returns the object files of a tree's changed files, and of those that include a changed header. It compiles
// them unless they are kept. Compiling takes about two seconds. It ends early with ctx, whose error it returns. If a
// file doesn't compile the error is a *Failed.
func (t *Tree) Objects(ctx context.Context) ([]string, error) {
	headers, err := Headers(t.Release)
	if err != nil {
		return nil, err
	}
	key, err := t.key(headers)
	if err != nil {
		return nil, err
	}
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, hex.EncodeToString(key[:16]))
	if objects := read(at); objects != nil {
		now := time.Now()
		os.Chtimes(at, now, now)
		return objects, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "new-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	made, err := t.make(ctx, work)
	if err != nil {
		return nil, err
	}
	if err := t.gather(filepath.Join(work, "set"), filepath.Join(work, "out"), made); err != nil {
		return nil, err
	}
	os.RemoveAll(at) // one that is damaged
	if err := os.Rename(filepath.Join(work, "set"), at); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	kept.Forget(dir, Most)
	if objects := read(at); objects != nil {
		return objects, nil
	}
	return nil, fmt.Errorf("%s: the objects that were compiled aren't there; make room", at)
}

// key returns the digest of all that the objects depend on.
func (t *Tree) key(headers string) (kept.Key, error) {
	config, err := os.ReadFile(filepath.Join(headers, ".config"))
	if err != nil {
		return kept.Key{}, err
	}
	parts := [][]byte{scripts.KernelObjects, []byte(t.Release), config}
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		parts = append(parts, []byte(name), t.Files[name])
	}
	for _, name := range slices.Sorted(slices.Values(t.Changed)) {
		parts = append(parts, []byte(name))
	}
	return kept.KeyOf(parts...), nil
}

// read returns the objects of a set, nil if it isn't there as it was made.
func read(at string) (objects []string) {
	text, err := os.ReadFile(filepath.Join(at, listed))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !filepath.IsLocal(name) {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(at, name))
		if is := sha256.Sum256(data); err != nil || hex.EncodeToString(is[:]) != sum {
			return nil
		}
		objects = append(objects, filepath.Join(at, name))
	}
	return objects
}

// Sets returns the objects of each set that is kept, in the order in which they were compiled.
func Sets() (sets [][]string) {
	dir, err := folder()
	if err != nil {
		return nil
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range all {
		if objects := read(filepath.Join(dir, e.Name())); objects != nil {
			sets = append(sets, objects)
		}
	}
	return sets
}

// make compiles in a folder, and returns the objects' paths below its folder out.
func (t *Tree) make(ctx context.Context, work string) ([]string, error) {
	src, out, script := filepath.Join(work, "src"), filepath.Join(work, "out"), filepath.Join(work, "kernel-objects")
	if err := os.WriteFile(script, scripts.KernelObjects, 0o700); err != nil {
		return nil, err
	}
	if err := t.write(src); err != nil {
		return nil, err
	}
	args := []string{script, "-d", shelf.Folder(), "-o", out, "-s", src, t.Release}
	for _, name := range t.Changed {
		args = append(args, filepath.Join(src, name))
	}
	text, err := run(ctx, work, "bash", args...)
	if err == nil {
		var made []string
		for line := range strings.Lines(text) {
			name, err := filepath.Rel(out, strings.TrimSpace(line))
			if err != nil || !filepath.IsLocal(name) {
				return nil, fmt.Errorf("kernel-objects printed %q, which is no object of %s", line, out)
			}
			made = append(made, name)
		}
		if len(made) == 0 {
			return nil, errors.New("nothing that is compiled includes what changed")
		}
		return made, nil
	}
	if log, logged := os.ReadFile(filepath.Join(out, "log")); logged == nil && len(bytes.TrimSpace(log)) > 0 &&
		!errors.Is(err, context.Canceled) {
		return nil, &Failed{Says: plain(string(log), out)}
	}
	return nil, err
}

// plain removes the folder from what a compiler says, and what make says.
func plain(log, out string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "make") {
			b.WriteString(strings.ReplaceAll(line, out+"/", ""))
		}
	}
	return b.String()
}

// write writes the files.
func (t *Tree) write(dir string) error {
	for name, text := range t.Files {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s: the path leaves the tree", name)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// gather writes a set: objects with their digests, and the sources beside them, for explain.
func (t *Tree) gather(to, out string, made []string) error {
	if err := t.write(to); err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range made {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&list, "%x  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(to, listed), []byte(list.String()), 0o644)
}

// run runs a program with its children in a group of their own, which ends with it, and returns what it prints.
func run(ctx context.Context, tmp, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s is here, which compiling needs", name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "LC_ALL=C")
	inGroup(cmd)
	cmd.Cancel = func() error {
		endGroup(cmd)
		return nil
	}
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		says := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("%s", cmp.Or(strings.TrimPrefix(says[len(says)-1], "kernel-objects: "), err.Error()))
	}
	return out.String(), nil
}
