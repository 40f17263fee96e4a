package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Files come from strangers: each is opened by readFile, which never waits and never
// reads without an end.

// The most bytes that a file may have.
const (
	mostTrace    = 16 << 20  // and of a scenario, a profile, figures, a page
	mostResult   = 64 << 20  // of one share
	mostObject   = 256 << 20 // a module with all its debugging information
	mostRemarked = 1 << 20   // of a trace that explore only looks at
)

// mostWait is how long is waited for what a file doesn't have yet: no disk's is waited for so.
const mostWait = time.Second

var (
	errIrregular = errors.New("not a regular file")
	errTooLong   = errors.New("too long")
)

// readFile reads a regular file of at most so many bytes. It opens no device, no pipe and
// no socket; and a file whose size lies, as those of /proc, is read no further either.
func readFile(path string, most int64) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "read", Path: path, Err: err} }
	s, err := os.Stat(path) // opening a device may do something by itself
	switch {
	case err != nil:
		return nil, err
	case s.IsDir():
		return fail(syscall.EISDIR)
	case !s.Mode().IsRegular():
		return fail(errIrregular)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have been exchanged meanwhile
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s, err = f.Stat(); err != nil {
		return nil, err
	}
	if !s.Mode().IsRegular() {
		return fail(errIrregular)
	}
	tooLong := fmt.Errorf("%w: at most %d bytes are read", errTooLong, most)
	if s.Size() > most {
		return fail(tooLong)
	}
	f.SetReadDeadline(time.Now().Add(mostWait)) // what can be waited for says that it is regular in /proc/kmsg, too
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fail(errIrregular)
	}
	if err == nil && int64(len(data)) > most {
		return fail(tooLong)
	}
	return data, err
}

// asFile is the name of a file as a word of a command line: not a flag.
func asFile(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// asScenario is a scenario's name, or that of its file without a folder, that a file from
// elsewhere gives, as a word of a command line.
func asScenario(name string) string { return asFile(filepath.Base(name)) }
