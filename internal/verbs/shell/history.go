package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"kpsim/internal/ui/cli"
)

// The history is a file in the user's home directory, shared by all sessions.

const (
	mostHistory     = 1000    // lines
	longestKept     = 4 << 10 // bytes of a line; longer ones aren't kept
	mostHistoryFile = 8 << 20 // bytes that are read of the file
)

// A history is the history file. It is rewritten after each line through a temporary file and a
// rename, so that neither a crash nor another session leaves it half written.
type history struct {
	path string
}

// historyPath returns the path of the history: XDG_STATE_HOME/kpsim/shell-history, by default
// ~/.local/state/kpsim/shell-history.
func historyPath() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "kpsim", "shell-history"), nil
}

// read returns the latest lines, oldest first. A missing file is not an error.
func (h *history) read() (lines []string, err error) {
	data, err := cli.ReadFile(h.path, mostHistoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New(cli.Cause(err, h.path))
	}
	for line := range bytes.Lines(data) {
		if s := strings.TrimSuffix(string(line), "\n"); keeps(s) {
			lines = append(lines, s)
		}
	}
	return lines[max(0, len(lines)-mostHistory):], nil
}

// keeps reports whether a line is kept: it must be valid text and not too long.
func keeps(line string) bool {
	return strings.TrimSpace(line) != "" && len(line) <= longestKept && utf8.ValidString(line) &&
		!strings.ContainsFunc(line, unicode.IsControl)
}

// add appends a line unless it equals the latest one.
func (h *history) add(line string) error {
	if !keeps(line) {
		return nil
	}
	lines, err := h.read() // another session may have added lines
	if err != nil {
		return err
	}
	if n := len(lines); n > 0 && lines[n-1] == line {
		return nil
	}
	lines = append(lines, line)
	lines = lines[max(0, len(lines)-mostHistory):]
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return errors.New(cli.Cause(err, filepath.Dir(h.path)))
	}
	if err := cli.WritePrivate(h.path, []byte(strings.Join(lines, "\n")+"\n")); err != nil {
		return errors.New(cli.Cause(err, h.path))
	}
	return nil
}

// lost reports an error of the history once: its result is then nil, which turns the history off.
func (h *history) lost(p *cli.Program, err error) *history {
	if err != nil {
		fmt.Fprintf(p.Err, "the history isn't kept: %v\n", err)
		return nil
	}
	return h
}
