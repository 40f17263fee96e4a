package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kpsim/internal/regular"
)

// All files are opened by ReadFile, since they are untrusted.

// The maximum sizes, in bytes, of files that are read.
const (
	MostTrace    = 16 << 20  // also of a scenario, a profile, figures, and a page
	MostResult   = 64 << 20  // the result of one share
	MostObject   = 256 << 20 // a module with all its debugging information
	mostRemarked = 1 << 20   // a trace that explore only looks at
)

// mostWait is the maximum time to wait for bytes of a pseudo-file.
const mostWait = time.Second

var errTooLong = errors.New("too long")

// ReadFile reads a regular file of at most the given size in bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, s, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLong := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: at most %d bytes are read", errTooLong, most)}
	if s.Size() > most {
		return nil, tooLong
	}
	f.SetReadDeadline(time.Now().Add(mostWait)) // a file that blocks may claim to be regular, such as /proc/kmsg
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, regular.Not(path)
	}
	if err == nil && int64(len(data)) > most {
		return nil, tooLong
	}
	return data, err
}

// Cause formats why a file can't be used: "x.star: no such file or directory".
func Cause(err error, path string) string {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le): // from the rename that ends WriteWhole
		err = le.Err
	}
	if path == "" {
		path = `""`
	}
	return fmt.Sprintf("%s: %v", path, err)
}

// A FileName is a flag's value. Setting it to "", as from an unset variable, is an error.
type FileName string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *FileName) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("the name is empty; name a file")
	}
	*n = FileName(b)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. In JSON an empty name means that none was given.
func (n *FileName) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*string)(n)) }

// CheckPage is Check for a page, if one was requested; the page must not replace a file that it
// is made from.
func (n FileName) CheckPage(of ...string) error {
	if n == "" {
		return nil
	}
	if err := n.Check(); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	there, err := os.Stat(string(n))
	if err != nil {
		return nil
	}
	for _, path := range of {
		if s, err := os.Stat(path); err == nil && os.SameFile(s, there) {
			return fmt.Errorf("--html: %s: is what the page is made of; name another file", n)
		}
	}
	return nil
}

// Base returns the name without its folder, for pages that are sent elsewhere.
func (n FileName) Base() string {
	if n == "" {
		return ""
	}
	return filepath.Base(string(n))
}

// MakeFolder makes sure that a folder for traces exists.
func MakeFolder(name string) error {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("--traces: %s; name a folder that can be written to", Cause(err, name))
	}
	return nil
}

// MakeFolderToUse is MakeFolder for a folder that is needed only if something is found. unused
// removes the folder if it was new and is still empty.
func MakeFolderToUse(name string) (unused func(), err error) {
	_, there := os.Stat(name)
	return func() {
		if errors.Is(there, fs.ErrNotExist) {
			os.Remove(name) // fails if the folder has files
		}
	}, MakeFolder(name)
}
