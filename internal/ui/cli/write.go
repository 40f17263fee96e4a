package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// writing is held while a file is replaced, so that ^C doesn't leave a temporary file.
var writing sync.Mutex

// WriteWhole writes a file. A regular file is replaced atomically and keeps its permissions. A
// symbolic link stays, and its target is written. A pipe, a character device, and the file of
// standard output or standard error are written as streams.
func WriteWhole(path string, data []byte) error { return writeWhole(path, data, 0o666) }

// WritePrivate is WriteWhole, but a new file is readable only by its user.
func WritePrivate(path string, data []byte) error { return writeWhole(path, data, 0o600) }

func writeWhole(path string, data []byte, mode fs.FileMode) error {
	s, err := os.Stat(path)
	if err == nil {
		f, err := streamed(path, s)
		if err != nil {
			return err
		}
		if f != nil {
			return stream(f, data)
		}
	}
	to, err := linked(path)
	if err != nil {
		return err
	}
	writing.Lock()
	defer writing.Unlock()
	f, err := beside(to, mode)
	if err != nil {
		return err
	}
	err = finish(f, data, to)
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// finish writes a temporary file, closes it, and renames it to name.
func finish(f *os.File, data []byte, name string) error {
	_, err := f.Write(data)
	if s, there := os.Stat(name); err == nil && there == nil {
		err = f.Chmod(s.Mode().Perm())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// beside creates a temporary file in the folder of another file. If that file exists, it must be
// writable.
func beside(name string, mode fs.FileMode) (*os.File, error) {
	if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
		f.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dir, _ := filepath.Split(name)
	const tries = 100
	for n := 1; ; n++ {
		temporary := dir + ".kpsim." + strconv.FormatUint(rand.Uint64(), 36)
		f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || n == tries {
			return f, err
		}
	}
}

// linked follows symbolic links to the file to be written, which need not exist. Paths aren't
// cleaned: "link/.." isn't the folder of link.
func linked(path string) (string, error) {
	const linksMost = 40
	for range linksMost {
		s, err := os.Lstat(path)
		if err != nil || s.Mode()&fs.ModeSymlink == 0 {
			return path, nil // opening it will report the error
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(path)
			to = dir + to
		}
		path = to
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// Reasons not to write to a file that isn't regular.
var (
	errBlocks = errors.New("is a block device, which isn't written to")
	errSocket = errors.New("is a socket, which can't be written to by its name")
	errUnread = errors.New("is a pipe that nothing reads")
	errOther  = errors.New("is neither a file nor a pipe nor a device of characters")
)

// streamable reports whether an existing file is to be written as a stream, because it isn't
// regular. The error says why it can't be.
func streamable(path string, s os.FileInfo) (ok bool, err error) {
	switch kind := s.Mode().Type(); {
	case kind == 0:
		return false, nil
	case kind&fs.ModeDir != 0:
		err = syscall.EISDIR
	case kind&fs.ModeCharDevice != 0, kind&fs.ModeNamedPipe != 0:
		return true, nil
	case kind&fs.ModeDevice != 0:
		err = errBlocks
	case kind&fs.ModeSocket != 0:
		err = errSocket
	default:
		err = errOther
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: err}
}

// standard returns the process's stream that goes to this file, or nil. Sharing the stream shares
// the offset, so that neither writer overwrites the other.
func standard(s os.FileInfo) *os.File {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if own, err := f.Stat(); err == nil && os.SameFile(s, own) {
			return f
		}
	}
	return nil
}

// streamed opens a file to be written as a stream. It returns nil for a regular file.
func streamed(path string, s os.FileInfo) (*os.File, error) {
	if f := standard(s); f != nil {
		return f, nil
	}
	ok, err := streamable(path, s)
	if err != nil || !ok {
		return nil, err
	}
	// Opening a pipe without a reader fails at once, so wait for a reader that was just started.
	for end := time.Now().Add(mostWait); ; time.Sleep(mostWait / 100) {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if !errors.Is(err, syscall.ENXIO) || s.Mode()&fs.ModeNamedPipe == 0 {
			return f, err
		}
		if time.Now().After(end) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: errUnread}
		}
	}
}

// stream writes to a stream, and closes it unless it is the process's own.
func stream(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if f == os.Stdout || f == os.Stderr {
		return err
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Check returns what would keep the file from being written.
func (n FileName) Check() error {
	path := string(n)
	if s, err := os.Stat(path); err == nil {
		if s.IsDir() {
			return fmt.Errorf("%s: is a directory; name a file", n)
		}
		if standard(s) != nil {
			return nil
		}
		if ok, err := streamable(path, s); ok {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s; name a file", Cause(err, path))
		}
	}
	to, err := linked(path)
	if err != nil {
		return fmt.Errorf("%s; name a file", Cause(err, path))
	}
	dir := filepath.Dir(to)
	in, _ := filepath.Split(to) // the folder that beside will use
	switch s, err := os.Stat(cmp.Or(in, ".")); {
	case err != nil:
		return fmt.Errorf("%s: %s; name a file in a folder that there is", n, Cause(err, dir))
	case !s.IsDir():
		return fmt.Errorf("%s: %s: not a directory; name a file in a folder that there is", n, dir)
	}
	f, err := beside(to, 0o600)
	if err != nil {
		if p := new(fs.PathError); errors.As(err, &p) && p.Path == to {
			return fmt.Errorf("%s; name a file that can be written to", Cause(err, path))
		}
		return fmt.Errorf("%s: %s; name a file in a folder that can be written to", n, Cause(err, dir))
	}
	f.Close()
	return os.Remove(f.Name())
}
