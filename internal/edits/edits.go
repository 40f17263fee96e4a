package edits

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/patches"
	"kpsim/linux/compile"
)

// An Edit is a kernel's source files with patches.
type Edit struct {
	Release string
	Dir     string // that the files are read from
	Left    []string
	Moved   []string
	Removed int // lines that the patches remove

	tree    *patches.Tree
	engine  []string // paths of the files that the engine is compiled from
	applied int
}

// Of begins an edit of a release's source, which is in dir; "": in the folder of scripts/fetch-kernel-source.
func Of(release, dir string) (*Edit, error) {
	if _, err := compile.Headers(release); err != nil {
		return nil, err
	}
	e := &Edit{Release: release, Dir: dir}
	own := compile.Source(release)
	if e.Dir == "" {
		e.Dir = own
	}
	if e.Dir == "" {
		return nil, fmt.Errorf("no source of %s is at hand; give the folder that has it, or run "+
			"scripts/fetch-kernel-source %s", release, release)
	}
	tree, err := patches.Open(e.Dir)
	if err != nil {
		return nil, err
	}
	if own == "" {
		own = e.Dir
	}
	if e.engine, err = sources(own); err != nil {
		return nil, err
	}
	return e.of(tree)
}

// Engine lists the files that a release's engine is compiled from.
func Engine(release string) ([]string, error) {
	if _, err := compile.Headers(release); err != nil {
		return nil, err
	}
	own := compile.Source(release)
	if own == "" {
		return nil, fmt.Errorf("no source of %s is at hand to compare with; run scripts/fetch-kernel-source %s",
			release, release)
	}
	return sources(own)
}

// Read is Of for files that a function reads; dir is what a message calls them.
func Read(release, dir string, read func(name string) ([]byte, error)) (*Edit, error) {
	engine, err := Engine(release)
	if err != nil {
		return nil, err
	}
	return (&Edit{Release: release, Dir: dir, engine: engine}).of(patches.From(read))
}

// of begins with a tree.
func (e *Edit) of(tree *patches.Tree) (*Edit, error) {
	e.tree = tree
	for _, name := range e.engine {
		if strings.HasSuffix(name, "/kprobes.c") && e.tree.Has(name) {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%s has no kernel/kprobes.c; give the folder of a kernel's source", e.Dir)
}

// mostSources is the maximum number of files of an engine. A folder with more is a whole kernel's.
const mostSources = 400

// sources lists the source files below a folder.
func sources(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || len(names) > mostSources {
			return err
		}
		if name, err := filepath.Rel(dir, at); err == nil && d.Type().IsRegular() && isCode(name) {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err == nil && len(names) > mostSources {
		err = fmt.Errorf("%s is a whole kernel, and it isn't known which of its files the engine is made of; run "+
			"scripts/fetch-kernel-source for the release", dir)
	}
	return names, err
}

// isCode reports whether a file is compiled or included.
func isCode(name string) bool { return slices.Contains([]string{".c", ".h", ".S"}, path.Ext(name)) }

// Apply applies patches. The error names the patch, and what to do.
func (e *Edit) Apply(list []*patches.Patch, file string) error {
	for _, p := range list {
		done, err := e.tree.Apply(p)
		if err != nil {
			return fmt.Errorf("%s: %w; give the source that it was made for with --source, or rebase it",
				p.Title(file), err)
		}
		e.applied++
		e.Moved, e.Removed = append(e.Moved, done.Moved...), e.Removed+done.Removed
		for _, name := range done.Absent {
			e.leave(name, "the source doesn't have it")
		}
	}
	for _, f := range e.tree.Changed() {
		switch {
		case !isCode(f.Name):
			e.leave(f.Name, "it isn't compiled")
		case !e.has(f.Name):
			e.leave(f.Name, "nothing of the engine of "+e.Release+" is compiled from it")
		case f.Gone:
			e.leave(f.Name, "the patch deletes it, and the kernel's own code stays")
		}
	}
	if len(e.Changed()) == 0 {
		return fmt.Errorf("nothing that it changes is compiled: %s; the engine's files are those of %s",
			strings.Join(e.Left, ", "), e.Dir)
	}
	return nil
}

func (e *Edit) leave(name, why string) {
	if says := fmt.Sprintf("%s: %s", name, why); !slices.Contains(e.Left, says) {
		e.Left = append(e.Left, says)
	}
}

// has reports whether a file is of the engine: one that it was compiled from, or that is new beside such a one.
func (e *Edit) has(name string) bool {
	if slices.Contains(e.engine, name) {
		return true
	}
	return path.Ext(name) == ".h" && slices.ContainsFunc(e.engine, func(of string) bool {
		return path.Dir(of) == path.Dir(name)
	})
}

// Changed returns the files that are changed and compiled or included.
func (e *Edit) Changed() (list []*patches.File) {
	for _, f := range e.tree.Changed() {
		if isCode(f.Name) && e.has(f.Name) && !f.Gone {
			list = append(list, f)
		}
	}
	return list
}

// Patches returns the number of patches that were applied.
func (e *Edit) Patches() int { return e.applied }

// Objects compiles the files that patches changed.
func (e *Edit) Objects(ctx context.Context) ([]string, error) {
	var names []string
	for _, f := range e.Changed() {
		names = append(names, f.Name)
	}
	return e.Compiled(ctx, names)
}

// Compiled compiles the named files as they are now, and those that include a named header.
func (e *Edit) Compiled(ctx context.Context, names []string) ([]string, error) {
	t := &compile.Tree{Release: e.Release, Files: make(map[string][]byte), Changed: names}
	for _, name := range slices.Concat(e.engine, names) {
		text, err := e.tree.Text(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t.Files[name] = text
	}
	return t.Objects(ctx)
}

// Engine lists the files that the engine is compiled from.
func (e *Edit) Engine() []string { return e.engine }

// Text returns a file as it is now.
func (e *Edit) Text(name string) ([]byte, error) { return e.tree.Text(name) }

// Differing returns the files of the engine that differ from those of a release's own source.
func (e *Edit) Differing() (names []string, err error) {
	own := compile.Source(e.Release)
	if _, err := Engine(e.Release); err != nil {
		return nil, err
	}
	for _, name := range e.engine {
		now, err := e.tree.Text(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		was, err := os.ReadFile(filepath.Join(own, name))
		if err != nil || string(was) != string(now) {
			names = append(names, name)
		}
	}
	return names, nil
}
