package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"kpsim/traces"
)

// program is what the commands share: where to write, and what is being done,
// for the report of a bug.
type program struct {
	out, err io.Writer
	colour   bool // on out
	width    int  // of out, if it is a terminal
	errWidth int  // of err
	live     bool // err is a terminal: progress is shown
	doing    string
	again    string   // the line to type to do it again
	shipped  []string // the editions whose faults have been told
	ear      ear
}

func newProgram(stdout, stderr io.Writer) *program {
	return &program{
		out: &output{w: newEdge(stdout)}, err: newEdge(stderr),
		width: width(stdout), errWidth: width(stderr),
		colour: isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		live:   isTerminal(stderr) && os.Getenv("TERM") != "dumb",
		again:  shell(append([]string{typed()}, os.Args[1:]...)...),
	}
}

// An output remembers the first write that failed, and writes nothing after it: on a full disk nobody would
// otherwise know that there is less than there should be.
type output struct {
	w   *edge
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.w.Write(b)
	}
	return n, o.err
}

// flush writes what the ends of standard output and standard error still hold.
func (p *program) flush() {
	if o, ok := p.out.(*output); ok {
		o.w.flush()
	}
	if e, ok := p.err.(*edge); ok {
		e.flush()
	}
}

// lost says why what was printed isn't all there, "" if it is.
func (p *program) lost() string {
	if o, ok := p.out.(*output); ok && o.err != nil {
		return cause(o.err, "standard output")
	}
	return ""
}

// lostBy says whether an error is that of printing.
func (p *program) lostBy(err error) bool {
	o, ok := p.out.(*output)
	return ok && o.err != nil && errors.Is(err, o.err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is that of a terminal, 0 if w is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// typed is how this program was called, as one would type it again.
func typed() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(exe), "/go-build") {
		if _, err := os.Stat("cmd/kpsim"); err == nil {
			return "go run ./cmd/kpsim"
		}
		return "go run kpsim/cmd/kpsim"
	}
	return os.Args[0]
}

// shell joins the words of a command line, so that a shell takes each for one word and for
// nothing else; the first is taken as it is.
func shell(words ...string) string {
	line := words[0]
	for _, w := range words[1:] {
		line += " " + quotedWord(w)
	}
	return line
}

// needsNoQuotes are the characters, beside letters and digits, that mean nothing to a shell.
const needsNoQuotes = "_@%+=:,./-"

func quotedWord(w string) string {
	special := func(r rune) bool {
		return r < utf8.RuneSelf && !strings.ContainsRune(needsNoQuotes, r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	switch {
	case traces.PlainString(w) != w || strings.ContainsAny(w, "\n\t"): // a terminal would obey it, or it ends the line
		var b strings.Builder
		for i := range len(w) {
			if c := w[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\%03o`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	case w == "" || strings.ContainsFunc(w, special):
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}

// paint colours s if out is a terminal.
func (p *program) paint(c, s string) string {
	if !p.colour {
		return s
	}
	return painted(c, s)
}

// The colours.
const (
	green       = "\x1b[32m"
	red         = "\x1b[1;31m"
	endOfColour = "\x1b[0m"
)

// printJSON prints v as one line.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// number says how many: "1 run", "2 runs".
func number[T int | uint64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// counted is number in a column: as wide for one as for many.
func counted[T int | uint64](n T, places int, what string) string {
	s := fmt.Sprintf("%*d %s", places, n, what)
	if n == 1 {
		return s + " "
	}
	return s + "s"
}

// writing is held while a file is written, so that ^C leaves no half of one.
var writing sync.Mutex

// A fileName is a flag's. An empty one, as of a variable that isn't set, isn't
// taken for none.
type fileName string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *fileName) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("the name is empty; name a file")
	}
	*n = fileName(b)
	return nil
}

// check says beforehand what would keep the file from being written.
func (n fileName) check() error {
	if s, err := os.Stat(string(n)); err == nil && s.IsDir() {
		return fmt.Errorf("%s: is a directory; name a file", n)
	}
	dir := filepath.Dir(string(n))
	switch s, err := os.Stat(dir); {
	case err != nil:
		return fmt.Errorf("%s: %s; name a file in a folder that there is", n, cause(err, dir))
	case !s.IsDir():
		return fmt.Errorf("%s: %s: not a directory; name a file in a folder that there is", n, dir)
	}
	f, err := os.CreateTemp(dir, ".kpsim.*") // as writeWhole will
	if err != nil {
		return fmt.Errorf("%s: %s; name a file in a folder that can be written to", n, cause(err, dir))
	}
	f.Close()
	return os.Remove(f.Name())
}

// writeWhole writes a file that is either whole or not there.
func writeWhole(path string, data []byte) (err error) {
	writing.Lock()
	defer writing.Unlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// manySmall is for commands that build one small machine after another, thousands of
// them: with the collector's own setting they would wait for it after every few.
func manySmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
