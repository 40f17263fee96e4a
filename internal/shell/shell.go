package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/nearest"
	"kpsim/internal/report"
	"kpsim/internal/search/session"
	"kpsim/traces/view"
)

type Shell struct {
	What string `arg:"" help:"A scenario, built-in or a file NAME.star, or a trace NAME.kps."`
	report.Once

	in io.Reader // nil: standard input
}

// A sh is a session with a user.
type sh struct {
	p     *cli.Program
	s     *session.Session
	quiet bool // handlers' lines are left out
	told  bool // that the run is over
	done  bool
}

func (c *Shell) Run(p *cli.Program) (int, error) {
	s, err := c.open(p)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	h := &sh{p: p, s: s}
	s.See(h.saw)
	in := c.in
	if in == nil {
		in = os.Stdin
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		h.talk(in, c.What)
	} else if err := h.script(in); err != nil {
		return 0, err
	}
	if s.End() && s.Run.Property != nil {
		h.verdict()
	}
	if s.Run != nil && s.Run.Property != nil {
		return cli.Against, nil
	}
	return cli.OK, nil
}

// open makes the session.
func (c *Shell) open(p *cli.Program) (*session.Session, error) {
	p.Doing = "shell of " + c.What
	p.ExitAtInterrupt("the session is over")
	if inputs.IsTraceFile(c.What) || strings.HasSuffix(c.What, ".kps") {
		if c.Once.Given() {
			return nil, fmt.Errorf("%s: a trace has its own schedule, mutant and edition; leave --seed, --strategy, --mutant, --as-shipped and --edition out", c.What)
		}
		k := inputs.TracesKernel{Kernel: c.Kernel.Kernel, Objects: c.Objects}
		file, err := k.Read(c.What)
		if err != nil {
			return nil, err
		}
		return session.Open(c.What, file)
	}
	j, s, err := c.Schedule(inputs.ByHand, c.What, "sticky")
	if err != nil {
		return nil, err
	}
	session, err := session.New(j.Scenario, c.Mutant, s)
	if err == nil {
		inputs.TellShipped(p, c.ShippedAs(j.Machine.Edition))
	}
	return session, err
}

const prompt = "kpsim> "

// talk is a session at a terminal: a mistake is reported, and that is all.
func (h *sh) talk(in io.Reader, what string) {
	goes := "step and run go along the schedule of " + what + "."
	if held := h.held(); len(held) > 0 {
		goes = "start lets its tasks begin (" + cli.List(held) + "), run has them run to their end."
	}
	h.p.Indented("", "The machine stands before its first step: "+goes+" help lists the commands, ^D ends.")
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

// script does the lines of a script, and prints what one would have seen.
func (h *sh) script(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	n, empty := 1, true
	for ; !h.done && lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if strings.ContainsFunc(line, func(c rune) bool { return c == utf8.RuneError || unicode.IsControl(c) && c != '\t' }) {
			return fmt.Errorf("stdin:%d: %.20q is no text; a script has a command a line, as call or cat; help lists them", n, line)
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
		err := h.line(line)
		if err != nil && h.s.Run != nil { // that is why
			fmt.Fprintln(h.p.Out, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("stdin:%d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("stdin:%d: the line is longer than %d bytes; a script has a command a line", n, longest)
	case err != nil:
		return fmt.Errorf("%s; give a script of commands, or use a terminal", cli.Cause(err, "stdin"))
	case empty:
		return fmt.Errorf("stdin: nothing is in it; write commands, as in echo 'text victim' | %s, or use a terminal", cli.Line(cli.Typed(), "shell", "safe-full"))
	}
	return nil
}

// longest is how long a line of a script may be.
const longest = 64 << 10

// line does one line.
func (h *sh) line(line string) error {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(strings.ReplaceAll(line, ">", " > "))
	if len(words) == 0 || words[0][0] == '#' {
		return nil
	}
	i := slices.IndexFunc(shellWords, func(w shellWord) bool { return w.word == words[0] || slices.Contains(w.also, words[0]) })
	if i < 0 {
		return noCommand(words[0])
	}
	err := shellWords[i].do(h, words[1:])
	if errors.Is(err, errUsage) {
		err = fmt.Errorf("write it %s%s", strings.TrimSpace(words[0]+" "+shellWords[i].args), h.choice(shellWords[i].args))
	}
	if h.s.Run != nil && !h.told {
		h.told = true
		h.verdict()
	}
	return err
}

func noCommand(word string) error {
	var names []string
	for _, w := range shellWords {
		names = append(names, w.word)
	}
	return fmt.Errorf("%s: no such command; %shelp lists them", word, strings.Replace(nearest.DidYouMean(word, names), "?", "? ", 1))
}

// choice says which there are of what the words of a command begin with.
func (h *sh) choice(args string) string {
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
	}{{"FUNC", h.functions()}, {"NAME…", h.probes()}, {"MODULE", h.modules()}, {"FILE", paths}, {"[-l] [DIRECTORY]", dirs}} {
		if strings.HasPrefix(args, of.word) && len(of.names) > 0 {
			return "; there are " + cli.List(of.names)
		}
	}
	return ""
}

// verdict says how the run ended.
func (h *sh) verdict() {
	if h.s.Run.Property != nil {
		h.p.Indented("", h.p.Paint(cli.Red, "VIOLATION")+": "+h.s.Verdict())
	} else {
		h.p.Indented("", "the run is over: "+h.s.Verdict())
	}
}

// errUsage is a mistake in the words of a command.
var errUsage = errors.New("usage")

// A shellWord is a command of the shell.
type shellWord struct {
	word string
	also []string
	args string
	says string
	do   func(h *sh, args []string) error
}

// shellWords are all of them; set in init, since help lists them.
var shellWords []shellWord

func init() {
	shellWords = []shellWord{
		{"help", []string{"?"}, "[COMMAND]", "list the commands", (*sh).help},
		{"call", nil, "FUNC [ARG…] [on CPU] [&]", "call a function, with numbers or symbols; & leaves it under way, to be stepped", (*sh).call},
		{"kprobe", nil, "NAME at SYMBOL[+OFFSET] [post] [nopre] [fault] [disabled] [REG=VALUE…] [ip=SYMBOL[+OFFSET]]", "make a probe; its pre_handler counts, and sets what is said", (*sh).kprobe},
		{"kretprobe", nil, "NAME at FUNC [maxactive=N] [entry] [leave] [data=N] [disabled] [REG=VALUE…]", "make a return probe; its handler counts, and sets what is said; entry: with an entry_handler; leave: which returns 1", (*sh).kretprobe},
		{"jprobe", nil, "NAME at FUNC entry=FUNC", "make a jprobe, which runs entry with the function's arguments (2.6)", (*sh).jprobe},
		{"register", nil, "NAME… [on CPU] [&]", "register_kprobe, or what it is a probe of; of several at once register_kprobes", (*sh).register},
		{"unregister", nil, "NAME… [on CPU] [&]", "unregister_kprobe, likewise", (*sh).unregister},
		{"enable", nil, "NAME… [on CPU] [&]", "enable_kprobe of each", (*sh).enable},
		{"disable", nil, "NAME… [on CPU] [&]", "disable_kprobe of each", (*sh).disable},
		{"insmod", []string{"load"}, "MODULE [on CPU] [&]", "load a module of the scenario's", (*sh).insmod},
		{"rmmod", []string{"unload"}, "MODULE [on CPU] [&]", "unload it", (*sh).rmmod},
		{"lsmod", nil, "", "list the modules, and which are loaded", (*sh).lsmod},
		{"cat", nil, "FILE", "print a file of kprobes", (*sh).cat},
		{"echo", nil, "VALUE > FILE", "write one", (*sh).echo},
		{"ls", nil, "[-l] [DIRECTORY]", "list them, or those of a directory", (*sh).ls},
		{"sysctl", nil, "[-w] NAME[=VALUE]", "read or write debug.kprobes-optimization", (*sh).sysctl},
		{"step", []string{"s", "stepi", "si"}, "[MOVER] [N]", "make N steps, of one mover if it is named: cpu1, ipi@cpu1, timer@cpu1", (*sh).step},
		{"continue", []string{"c"}, "", "run until nothing moves, without letting a task begin", (*sh).goOn},
		{"run", nil, "[TASK…]", "let the scenario's tasks begin, all or those, and run until nothing moves", (*sh).run},
		{"start", nil, "[TASK…]", "let them begin, and stand still", (*sh).start},
		{"wait", nil, "", "until what is under way is done, and the optimizer has nothing left to do", (*sh).wait},
		{"where", []string{"ps"}, "", "who is where, and what can move", (*sh).where},
		{"regs", nil, "[CPU]", "print registers", (*sh).regs},
		{"text", nil, "FUNC", "list a function as it is in memory, what it was, and what each CPU may still fetch", (*sh).text},
		{"x", nil, "ADDRESS|SYMBOL[+OFFSET] [N]", "print N bytes of memory, and as instructions; of data, as words of 8 bytes", (*sh).examine},
		{"hits", nil, "", "print how often each probe was hit and missed", (*sh).hits},
		{"dmesg", nil, "", "print what the kernel has printed", (*sh).dmesg},
		{"events", nil, "[N]", "print about N of the events so far, by CPU", (*sh).events},
		{"fetch", nil, "oldest|fresh", "have CPUs see the oldest text that they may see", (*sh).fetch},
		{"trace", nil, "on|off", "print each call of a handler, or don't", (*sh).trace},
		{"exit", []string{"quit", "q"}, "", "end", (*sh).exit},
	}
}

func (h *sh) help(args []string) error {
	width := 0
	for _, w := range shellWords {
		width = max(width, len(w.word))
	}
	found := false
	for _, w := range shellWords {
		switch {
		case len(args) == 0:
			if line := fmt.Sprintf("%-*s  %s", width, w.word, w.says); h.p.Width == 0 || view.Visible(line) <= h.p.Width {
				fmt.Fprintln(h.p.Out, line)
			} else {
				fmt.Fprintln(h.p.Out, w.word)
				h.p.Indented(cli.Indent, w.says)
			}
		case args[0] == w.word || slices.Contains(w.also, args[0]):
			found = true
			h.p.Indented("", strings.TrimSpace(w.word+" "+w.args))
			h.p.Indented("  ", w.says)
		}
	}
	if len(args) > 0 && !found {
		return noCommand(args[0])
	}
	return nil
}

func (h *sh) exit(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	h.done = true
	return nil
}

// onOff reads one of two words.
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

func (h *sh) fetch(args []string) error {
	on, err := onOff(args, "oldest", "fresh")
	h.s.Stale(on)
	return err
}

// placed takes off what says where and how a command is to run: on CPU, and &.
func (h *sh) placed(args []string) (rest []string, cpu int, behind bool, err error) {
	if n := len(args); n > 0 && args[n-1] == "&" {
		args, behind = args[:n-1], true
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
	return args, cpu, behind, nil
}

// cpu reads the number of a CPU.
func (h *sh) cpu(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "cpu"))
	if last := h.s.Rig.Machine.CPUs() - 1; err != nil || n < 0 || n > last {
		return 0, fmt.Errorf("%s is no CPU of this machine; they are 0 to %d", s, last)
	}
	return n, nil
}
