package patches

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Modes of git that aren't regular files.
const (
	modeType    = 0o170000
	modeRegular = 0o100000
)

// plain refuses a file of a patch that may be something else than a file of the tree.
func plain(f *gitdiff.File) error {
	for _, name := range []string{f.OldName, f.NewName} {
		if name == "" { // /dev/null of a file that is new or deleted
			continue
		}
		if err := within(cut(name)); err != nil {
			return fmt.Errorf("%q: %w; such a patch isn't applied: take that file out of it", name, err)
		}
	}
	for _, mode := range []fs.FileMode{f.OldMode, f.NewMode} {
		if t := mode & modeType; t != 0 && t != modeRegular {
			return fmt.Errorf("%q: mode %o is no regular file's; such a patch isn't applied: take that file out of it",
				orElse(f.NewName, f.OldName), mode)
		}
	}
	return nil
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// within refuses a path that isn't of the tree.
func within(name string) error {
	switch {
	case path.IsAbs(name):
		return errors.New("the path is absolute")
	case !fs.ValidPath(name) || name == ".": // an empty element, ., .. or nothing
		return errors.New("the path leaves the tree, or isn't clean")
	case strings.ContainsAny(name, "\\\x00\n\r"):
		return errors.New("the path has a character that a kernel's paths don't have")
	}
	for _, e := range strings.Split(name, "/") {
		if strings.EqualFold(e, ".git") {
			return errors.New("the path is git's own")
		}
	}
	return nil
}
