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

	"kpsim/internal/cli"
)

// The history of lines is a file of the user's, shared by all sessions.

const (
	mostHistory     = 1000    // lines
	longestKept     = 4 << 10 // bytes of a line; a longer one isn't kept
	mostHistoryFile = 8 << 20 // bytes of a file that is read
)

// A history is the file. It is written after each line, through a temporary file and a rename:
// neither a crash nor another session leaves it half written.
type history struct {
	path string
}

// historyPath is where the history is: XDG_STATE_HOME/kpsim/shell-history, by default
// ~/.local/state/kpsim/shell-history.
func historyPath() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the standard of XDG says
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "kpsim", "shell-history"), nil
}

// read returns the latest lines, oldest first. There being no file is no error.
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

// keeps reports whether a line is kept: it is text, and no longer than it may be.
func keeps(line string) bool {
	return strings.TrimSpace(line) != "" && len(line) <= longestKept && utf8.ValidString(line) &&
		!strings.ContainsFunc(line, unicode.IsControl)
}

// add adds a line, unless it is the latest one already.
func (h *history) add(line string) error {
	if !keeps(line) {
		return nil
	}
	lines, err := h.read() // another session may have added some
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

// lost says once why the history isn't kept, and gives it up.
func (h *history) lost(p *cli.Program, err error) *history {
	if err != nil {
		fmt.Fprintf(p.Err, "the history isn't kept: %v\n", err)
		return nil
	}
	return h
}
