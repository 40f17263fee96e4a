package cli

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"kpsim/internal/ui/verdict"
)

// Program is the state shared by all commands: where to write, and what is being done, for bug
// reports.
type Program struct {
	Out, Err io.Writer
	Colour   bool             // paint Out
	Width    int              // columns of Out; 0: not a terminal
	ErrWidth int              // columns of Err; 0: not a terminal
	Live     bool             // Err is a terminal: progress is shown
	Clock    func() time.Time // for progress; nil: the system clock
	Doing    string           // what is being run
	Again    string           // the command line that repeats it
	Shipped  []string         // editions whose known faults were printed
	Judged   *verdict.List    // collects what is judged, for --format; nil: that wasn't given
	named    bool             // a line of JSON has identified this kpsim
	ear      ear
}

// New returns the Program of a process that writes to stdout and stderr.
func New(stdout, stderr io.Writer) *Program {
	return &Program{
		Out: &output{w: newEdge(stdout)}, Err: newEdge(stderr),
		Width: width(stdout), ErrWidth: width(stderr),
		Colour: isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Live:   isTerminal(stderr) && os.Getenv("TERM") != "dumb",
		Again:  Line(append([]string{Typed()}, os.Args[1:]...)...),
	}
}

// An output remembers the first failed write and then discards everything, so that a full disk is
// reported at the end.
type output struct {
	w    *edge
	err  error
	line atomic.Pointer[Progress] // cleared before anything is written
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (n int, err error) {
	o.line.Load().Clear()
	if o.err == nil {
		n, o.err = o.w.Write(b)
	}
	return n, o.err
}

// Flush writes what standard output and standard error still buffer.
func (p *Program) Flush() {
	if o, ok := p.Out.(*output); ok {
		o.w.flush()
	}
	if e, ok := p.Err.(*edge); ok {
		e.flush()
	}
}

// Lost returns why standard output is incomplete; "" if it isn't.
func (p *Program) Lost() string {
	if o, ok := p.Out.(*output); ok && o.err != nil {
		return Cause(o.err, "standard output")
	}
	return ""
}

// LostBy reports whether err is the failed write to standard output.
func (p *Program) LostBy(err error) bool {
	o, ok := p.Out.(*output)
	return ok && o.err != nil && errors.Is(err, o.err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the columns of a terminal, 0 if w is none.
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

// ManySmall lets the garbage collector run less often. It is for commands that build
// thousands of small machines. GOGC overrides it.
func ManySmall() { collectAt(800) }

// ManyKernels is ManySmall for commands with a large heap, which ManySmall would let grow too
// large.
func ManyKernels() { collectAt(200) }

func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
