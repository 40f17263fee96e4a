package patches

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostFile is the maximum size of a file of the source, in bytes.
const mostFile = 16 << 20

// A Tree is the files of a folder, and what patches have made of them. The folder isn't written to.
type Tree struct {
	// Read returns a file of the tree; the error is fs.ErrNotExist if the tree has none of that name.
	Read  func(name string) ([]byte, error)
	files map[string]*File // those that patches changed
	count int              // patches
}

// A File is a file as lines.
type File struct {
	Name  string
	Lines []Line
	Gone  bool // a patch deleted it
}

// A Line is a line of a file.
type Line struct {
	Text  string // with its end
	Patch int    // that it came from, counted from 1; 0: it was in the source
}

// Open opens a folder as a tree. Links that lead out of it aren't followed, and only regular files are read.
func Open(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{files: make(map[string]*File), Read: func(name string) ([]byte, error) {
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file", name)
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
		if err == nil && len(text) > mostFile {
			err = fmt.Errorf("%s is longer than %d bytes", name, mostFile)
		}
		return text, err
	}}, nil
}

// From makes a tree of files that a function reads. Its error is fs.ErrNotExist if there is none of that name.
func From(read func(name string) ([]byte, error)) *Tree {
	return &Tree{files: make(map[string]*File), Read: read}
}

// Of makes a tree of files in memory.
func Of(files map[string]string) *Tree {
	return From(func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	})
}

// Changed returns the files that patches have changed, by name.
func (t *Tree) Changed() (list []*File) {
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		list = append(list, t.files[name])
	}
	return list
}

// Text returns a file as it is now.
func (t *Tree) Text(name string) ([]byte, error) {
	if f := t.files[name]; f != nil {
		if f.Gone {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		var b bytes.Buffer
		for i := range f.Lines {
			b.WriteString(f.Lines[i].Text)
		}
		return b.Bytes(), nil
	}
	return t.Read(name)
}

// file returns a copy of a file's lines, to be changed.
func (t *Tree) file(name string) (*File, error) {
	if f := t.files[name]; f != nil {
		if f.Gone {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return &File{Name: name, Lines: slices.Clone(f.Lines)}, nil
	}
	text, err := t.Read(name)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name}
	for line := range strings.Lines(string(text)) {
		f.Lines = append(f.Lines, Line{Text: line})
	}
	return f, nil
}

// Has reports whether the tree has a file.
func (t *Tree) Has(name string) bool {
	if f := t.files[name]; f != nil {
		return !f.Gone
	}
	_, err := t.Read(name)
	return err == nil
}

// absent reports whether an error says that a tree has no such file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) }

// errNoFolder is ENOTDIR's, of a path through a file.
var errNoFolder = errors.New("not a folder")
