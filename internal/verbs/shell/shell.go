package shell

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/session"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/verbs/report"
	"kpsim/linux/source"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// Shell is kpsim shell.
type Shell struct {
	What string `arg:"" help:"A scenario, built-in or a file NAME.star, or a trace NAME.kps."`
	report.RunFlags

	in   io.Reader // nil: standard input
	anew func() (*session.Session, error)

	origin []traces.Remark // of the trace that is saved
}

// Help implements kong.HelpProvider.
func (*Shell) Help() string {
	return `Step a machine by hand: call, register, cat and echo, look at text and registers.

Opens a machine that stands still. Commands come from the terminal, or from a script on standard input. They call functions, register probes, read and write the files of kprobes, step, and print text and registers. break and watch stop a run; back, goto and reverse-continue go back; | filters what is printed (dmesg | tail -3).

help lists the commands, help COMMAND shows an example. Commands of gdb, crash and rr are understood (b, bt, p, info, finish, rc). save writes the run so far as a trace. At a terminal Tab completes, ^R searches the history, ^C ends the running command, ^D the session.

The tasks of a scenario begin with the command run. The machine of a trace follows the trace's schedule with step and run, to the end of its run. What properties say of the end of a run they say where nothing can move any more and the session, or the trace, is at its end.

Examples:

  kpsim shell safe-full
  kpsim shell --seed 7 safe-full
  kpsim shell --edition 6.9 --as-shipped return-nmi
  kpsim shell traces/torn-jump.kps
  echo 'call victim 3 5' | kpsim shell safe-full
  printf 'break T1\nrun\nback 3\n' | kpsim shell traces/torn-jump.kps

In a script a line that can't be understood ends it; what the kernel refuses (-EINVAL) is an answer.

Exit status: 0, 1 a property was broken, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// A sh is one session of the shell.
type sh struct {
	c     *Shell
	p     *cli.Program
	s     *machine
	quiet bool   // handler hits aren't printed
	told  bool   // the end of the run was reported
	left  string // what was said of where the trace was left
	done  bool

	journal   []done // the commands that led to the present state
	to        place  // a running command ends here at the latest
	replaying bool   // the journal is being repeated
	interrupt *atomic.Bool

	stops  breakpoints
	format string // what follows the slash of x/4i, while that command runs

	ended  string         // says that the command has come to where nothing moves any more
	source *source.Source // the kernel's whose engine runs, read on first use
}

// A machine is the session's, and answers questions about it.
type machine struct{ *session.Session }

func (c *Shell) Run(p *cli.Program) (int, error) {
	h, err := c.begin(p)
	if err != nil {
		return 0, err
	}
	defer func() { h.s.Close() }()
	in := c.in
	if in == nil {
		in = os.Stdin
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if f == os.Stdin && canEdit() {
			err = h.edit()
		} else {
			h.talk(in)
		}
		if err != nil {
			return 0, err
		}
	} else if err := h.script(in); err != nil {
		return 0, err
	}
	if h.s.End() && h.s.Run.Property != nil {
		h.verdict()
	}
	if h.s.Run != nil && h.s.Run.Property != nil {
		return cli.Against, nil
	}
	return cli.OK, nil
}

// begin starts a session of the shell.
func (c *Shell) begin(p *cli.Program) (*sh, error) {
	s, err := c.open(p)
	if err != nil {
		return nil, err
	}
	h := &sh{c: c, p: p, interrupt: new(atomic.Bool), to: nowhere}
	h.stops.about = -1
	h.adopt(s)
	return h, nil
}

// open makes the session, and sets c.anew, which makes the same one again.
func (c *Shell) open(p *cli.Program) (*session.Session, error) {
	p.Doing = "shell of " + c.What
	p.ExitAtInterrupt("the session is over")
	if c.isTrace() {
		if c.RunFlags.IsSet() {
			return nil, fmt.Errorf("%s: a trace has its own schedule, mutant and edition; leave --seed, "+
				"--strategy, --mutant, --as-shipped and --edition out", c.What)
		}
		k := kernels.TracesKernel{Kernel: c.Kernel.Kernel, Objects: c.Objects}
		file, err := k.Read(c.What)
		if err != nil {
			return nil, err
		}
		what := c.What
		c.origin = file.Origin
		c.anew = func() (*session.Session, error) { return session.Open(what, file) }
		return c.anew()
	}
	j, _, err := c.Schedule(inputs.ByHand, c.What, usual)
	if err != nil {
		return nil, err
	}
	once := c.RunFlags
	found := traces.File{Origin: []traces.Remark{{Key: "strategy", Value: "by hand"}}}
	if j.FoundIn(&found); once.Mutant != "" {
		found.Origin = append(found.Origin, traces.Remark{Key: traces.OriginMutant, Value: once.Mutant})
	}
	c.origin = found.Origin
	c.anew = func() (*session.Session, error) {
		s := sched.Strategy(new(sched.Default))
		if once.Seed != nil {
			spec := explore.Spec{Scenario: j.Scenario, Mutant: once.Mutant, Strategy: cmp.Or(once.Strategy, usual),
				Seed: *once.Seed}
			var err error
			if s, err = spec.First(); err != nil {
				return nil, err
			}
		}
		sc := *j.Scenario
		sc.Probes = slices.Clip(sc.Probes) // the session may append probes
		return session.New(&sc, once.Mutant, s)
	}
	session, err := c.anew()
	if err == nil {
		inputs.TellShipped(p, c.ShippedAs(j.Machine.Edition))
	}
	return session, err
}

// isTrace reports whether the session is of a trace.
func (c *Shell) isTrace() bool {
	return inputs.IsTraceFile(c.What) || strings.HasSuffix(c.What, ".kps")
}

// usual is the default strategy when a seed is given.
const usual = "sticky"

const prompt = "kpsim> "

// greeting describes the machine before the first command.
func (h *sh) greeting() string {
	goes := "step and run go along the schedule of " + h.c.What + "."
	if held := h.s.held(); len(held) > 0 {
		goes = "start lets its tasks begin (" + cli.List(held) + "), run has them run to their end."
	}
	return "The machine stands before its first step: " + goes + " help lists the commands, ^D ends."
}

// talk runs a session without line editing: the terminal can't, or the output isn't one. A wrong
// command is reported and doesn't end the session.
func (h *sh) talk(in io.Reader) {
	h.p.Indented("", h.greeting())
	lines := bufio.NewScanner(in)
	for !h.done {
		fmt.Fprint(h.p.Out, prompt)
		if !lines.Scan() {
			fmt.Fprintln(h.p.Out)
			return
		}
		if err := h.line(lines.Text()); err != nil {
			fmt.Fprintln(h.p.Out, err)
		}
	}
}

// script runs the lines of a script; the output looks like a session's at a terminal.
func (h *sh) script(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	n, empty := 1, true
	for ; !h.done && lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if strings.ContainsFunc(line, isBinary) {
			return fmt.Errorf("stdin:%d: %.20q is no text; a script has a command a line, as call or cat; "+
				"help lists them", n, line)
		}
		empty = empty && line == ""
		switch {
		case line == "":
			fmt.Fprintln(h.p.Out)
			continue
		case line[0] == '#':
			fmt.Fprintln(h.p.Out, line)
			continue
		}
		fmt.Fprintf(h.p.Out, "%s%s\n", prompt, line)
		switch err := h.line(line); {
		case err == nil:
		case h.s.Run != nil && !errors.As(err, new(unsaved)): // it is why the run ended, or comes of that
			fmt.Fprintf(h.p.Out, "stdin:%d: %v\n", n, err)
		default:
			return fmt.Errorf("stdin:%d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("stdin:%d: the line is longer than %d bytes; a script has a command a line", n, longest)
	case err != nil:
		return fmt.Errorf("%s; give a script of commands, or use a terminal", cli.Cause(err, "stdin"))
	case empty:
		return fmt.Errorf("stdin: nothing is in it; write commands, as in echo 'text victim' | %s, or use a terminal",
			cli.Line(cli.Typed(), "shell", "safe-full"))
	}
	return nil
}

// isBinary reports whether a character is none of a script.
func isBinary(c rune) bool { return c == utf8.RuneError || unicode.IsControl(c) && c != '\t' }

// longest is the maximum length of a script's line, in bytes.
const longest = 64 << 10

// line runs one line.
func (h *sh) line(line string) error {
	c, err := parse(line)
	if err != nil || len(c.words) == 0 {
		return err
	}
	h.stops.from, h.stops.undo, h.stops.met, h.ended = h.s.steps(), false, nil, ""
	h.interrupt.Store(false)
	if len(c.filters) > 0 {
		err = h.through(c)
	} else {
		err = h.one(c.words)
	}
	if back, stopped := h.tellStops(); back || err == nil {
		err = stopped // a call that broke the property isn't finished any more
	}
	tellLeft(h)
	if h.ended != "" && err == nil {
		h.p.Indented("", h.ended)
	}
	h.stops.list = slices.DeleteFunc(h.stops.list, func(s *stop) bool { return s == h.stops.once })
	h.stops.once = nil
	if h.s.Run != nil && !h.told {
		h.told = true
		h.verdict()
	}
	return err
}

// one runs one command, and records it if it may change the machine.
func (h *sh) one(words []string) error {
	w, format, err := wordOf(words[0])
	if err != nil {
		return err
	}
	h.format = format
	h.s.Halted, h.s.Halt, h.stops.heard.on = false, nil, false
	h.s.Limit, h.s.Beyond = h.to.step, h.to.event
	switch {
	case h.replaying && h.stops.back != nil:
		h.s.Halt, h.stops.heard.on = h.stops.remember, true
	case (len(h.stops.list) > 0 || h.stops.met != nil) && !h.replaying:
		h.s.Halt, h.stops.heard.on = h.stops.halt, true
	}
	s, from := h.s, h.s.steps()
	err = w.do(h, words[1:])
	if w.moves && h.s == s {
		h.journal = append(h.journal, done{words, from, h.s.steps(), h.s.Halted})
	}
	switch {
	case errors.Is(err, errUsage):
		err = fmt.Errorf("write it %s%s", strings.TrimSpace(words[0]+" "+w.args), h.s.choice(w.args))
	case errors.Is(err, session.ErrHalted):
		err = nil
	}
	if err != nil && w.word == "save" {
		err = unsaved{err}
	}
	return err
}

// An unsaved is the error of a save, which ends a script also where the run is over.
type unsaved struct{ error }

// choice lists the possible words for the start of a command's arguments.
func (h *machine) choice(args string) string {
	var paths, dirs []string
	for _, f := range h.files() {
		paths = append(paths, f.Path())
		if !slices.Contains(dirs, f.Dir) {
			dirs = append(dirs, f.Dir)
		}
	}
	for _, of := range []struct {
		word  string
		names []string
	}{{"FUNC", h.functions()}, {"NAME…", h.probes()}, {"MODULE", h.modules()}, {"FILE", paths},
		{"[-l] [DIRECTORY]", dirs}} {
		if strings.HasPrefix(args, of.word) && !strings.HasPrefix(args, of.word+".") && len(of.names) > 0 {
			return "; there are " + cli.List(of.names)
		}
	}
	return ""
}

// verdict says how the run ended.
func (h *sh) verdict() {
	switch {
	case h.s.Run.Property != nil:
		h.p.Indented("", h.p.Paint(cli.Red, "VIOLATION")+": "+h.s.Verdict())
	case h.s.Run.Outcome == smp.Passed:
		h.p.Indented("", fmt.Sprintf("the run has ended after step %d: nothing is broken", h.s.steps()))
	default:
		h.p.Indented("", fmt.Sprintf("the run has ended after step %d: %s", h.s.steps(), h.s.Verdict()))
	}
}

func (h *sh) exit(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	h.done = true
	return nil
}

// onOff reads one of the words yes and no.
func onOff(args []string, yes, no string) (on bool, err error) {
	if len(args) != 1 || args[0] != yes && args[0] != no {
		return false, errUsage
	}
	return args[0] == yes, nil
}

func (h *sh) trace(args []string) error {
	on, err := onOff(args, "on", "off")
	h.quiet = !on
	return err
}

// fetch is the command fetch. Along a trace it takes another choice than the trace's, and line says where.
func (h *sh) fetch(args []string) error {
	var answers []int
	for _, a := range args {
		n, ok := map[string]int{"oldest": session.Oldest, "fresh": 0, "decided": session.AsDecided}[a]
		if !ok {
			older, err := strconv.ParseUint(a, 10, 16)
			if err != nil || older == 0 {
				return errUsage
			}
			n = int(older)
		}
		answers = append(answers, n)
	}
	if answers == nil {
		return errUsage
	}
	h.s.Fetch(answers[0], answers[1:]...)
	return nil
}

// tellLeft says where the trace was left, once, and again after going back to before that place.
func tellLeft(h *sh) {
	if left := h.s.Left(); left != h.left {
		if h.left = left; left != "" {
			h.p.Indented("", "the trace is left here: "+left+"; its other deviations are made where they are met")
		}
	}
}

// placed removes the words that place a command: on CPU, and & for the background.
func (h *machine) placed(args []string) (rest []string, cpu int, background bool, err error) {
	if n := len(args); n > 0 && args[n-1] == "&" {
		args, background = args[:n-1], true
	}
	if n := len(args); n > 2 && args[n-2] == "on" {
		if cpu, err = h.cpu(args[n-1]); err != nil {
			return nil, 0, false, err
		}
		args = args[:n-2]
	}
	if len(args) == 0 {
		return nil, 0, false, errUsage
	}
	return args, cpu, background, nil
}

// cpu reads a CPU number.
func (h *machine) cpu(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "cpu"))
	if last := h.Rig.Machine.CPUs() - 1; err != nil || n < 0 || n > last {
		return 0, fmt.Errorf("%s is no CPU of this machine; they are 0 to %d", s, last)
	}
	return n, nil
}
