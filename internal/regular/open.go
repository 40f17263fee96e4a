package regular

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

var errNot = errors.New("not a regular file")

// Open opens a regular file to read it. The size that info says isn't to be trusted: /proc
// gives it as 0.
func Open(path string) (f *os.File, info os.FileInfo, err error) {
	if info, err = os.Stat(path); err == nil {
		err = check(path, info)
	}
	if err != nil {
		return nil, nil, err
	}
	// Another file may have taken its name meanwhile. Of a pipe this returns at once.
	if f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func check(path string, info os.FileInfo) error {
	switch {
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return Not(path)
	}
	return nil
}

// Not is the error of a file that isn't regular.
func Not(path string) error { return &fs.PathError{Op: "open", Path: path, Err: errNot} }

// IsNot reports whether an error says that a file is there and isn't a regular one.
func IsNot(err error) bool { return errors.Is(err, errNot) || errors.Is(err, syscall.EISDIR) }
