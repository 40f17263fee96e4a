package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/traces/view"
)

// errUsage reports wrong arguments of a command.
var errUsage = errors.New("usage")

// A shellWord is a command of the shell.
type shellWord struct {
	word    string
	also    []string
	args    string
	says    string
	example string
	moves   bool // may change the machine, by itself: not by another command, nor by going back
	do      func(h *sh, args []string) error
	names   func(m *machine) []string // completions of its arguments
}

// formatted are the commands that may have a format, as x/4i.
var formatted = []string{"x", "print"}

// fixed and words make completions that no machine changes.
func fixed(names ...string) func(*machine) []string { return func(*machine) []string { return names } }

func words(of func() []string) func(*machine) []string {
	return func(*machine) []string { return of() }
}

// wordOf finds a command by its name, an alias, or a beginning that no other command has. What follows a slash, as in
// x/4i, is the format.
func wordOf(typed string) (w *shellWord, format string, err error) {
	name, format, slash := strings.Cut(typed, "/")
	i, err := meant(name, "help lists them", len(shellWords), func(i int) []string {
		return append([]string{shellWords[i].word}, shellWords[i].also...)
	})
	switch {
	case err != nil:
		return nil, "", err
	case slash && !slices.Contains(formatted, shellWords[i].word):
		return nil, "", fmt.Errorf("%s: only x and print take a format; write %s", typed, shellWords[i].word)
	}
	return &shellWords[i], format, nil
}

// shellWords lists the commands. It is set in init because help refers to it.
var shellWords []shellWord

func init() {
	shellWords = []shellWord{
		{"help", []string{"?", "h"}, "[COMMAND]", "list the commands", "help watch", false, (*sh).help,
			words(commandNames)},
		{"call", nil, "FUNC [ARG…] [on CPU] [&]",
			"call a function, with numbers or symbols; & leaves it under way, to be stepped", "call victim 3 5 on 1",
			true, (*sh).call, (*machine).functions},
		{"kprobe", nil, "NAME at SYMBOL[+OFFSET] [post] [nopre] [fault] [disabled] [REG=VALUE…] [ip=SYMBOL[+OFFSET]]",
			"make a probe; its pre_handler counts, and sets what is said", "kprobe p at victim+1 post", true,
			(*sh).kprobe, (*machine).probing},
		{"kretprobe", nil, "NAME at FUNC [maxactive=N] [entry] [leave] [data=N] [disabled] [REG=VALUE…]",
			"make a return probe; its handler counts, and sets what is said; entry: with an entry_handler; " +
				"leave: which returns 1", "kretprobe r at victim maxactive=2", true, (*sh).kretprobe,
			(*machine).probing},
		{"jprobe", nil, "NAME at FUNC entry=FUNC",
			"make a jprobe, which runs entry with the function's arguments (2.6)", "jprobe j at f entry=g", true,
			(*sh).jprobe, (*machine).probing},
		{"register", nil, "NAME… [on CPU] [&]",
			"register_kprobe, or what it is a probe of; of several at once register_kprobes", "register k", true,
			api("register", act.Register, act.RegisterAll), (*machine).probes},
		{"unregister", nil, "NAME… [on CPU] [&]", "unregister_kprobe, likewise", "unregister k", true,
			api("unregister", act.Unregister, act.UnregisterAll),
			(*machine).probes},
		{"enable", nil, "NAME… [on CPU] [&]", "enable_kprobe of each", "enable k", true,
			api("enable", act.Enable, nil), (*machine).probes},
		{"disable", nil, "NAME… [on CPU] [&]", "disable_kprobe of each", "disable k", true,
			api("disable", act.Disable, nil), (*machine).probes},
		{"insmod", []string{"load"}, "MODULE [on CPU] [&]", "load a module of the scenario's", "insmod m", true,
			module("insmod", act.Load), (*machine).modules},
		{"rmmod", []string{"unload"}, "MODULE [on CPU] [&]", "unload it", "rmmod m", true, module("rmmod", act.Unload),
			(*machine).modules},
		{"lsmod", []string{"mod"}, "", "list the modules, and which are loaded", "lsmod", false, (*sh).lsmod, nil},
		{"cat", nil, "FILE", "print a file of kprobes", "cat list", false, (*sh).cat, (*machine).paths},
		{"echo", nil, "VALUE > FILE", "write one", "echo 0 > /proc/sys/debug/kprobes-optimization", true, (*sh).echo,
			(*machine).paths},
		{"ls", nil, "[-l] [DIRECTORY]", "list them, or those of a directory", "ls -l /proc/sys/debug", false, (*sh).ls,
			(*machine).paths},
		{"sysctl", nil, "[-w] NAME[=VALUE]", "read or write debug.kprobes-optimization",
			"sysctl debug.kprobes-optimization", true, (*sh).sysctl, fixed("debug." + sysctlName)},
		{"step", []string{"s", "stepi", "si"}, "[MOVER] [N]",
			"make N steps, of one mover if it is named: cpu1, ipi@cpu1, timer@cpu1", "step cpu1 3", true, (*sh).step,
			(*machine).moverNames},
		{"next", []string{"n", "nexti", "ni"}, "[CPU]",
			"run on until a CPU stands at the next instruction of its function: calls, interrupts and handlers in " +
				"between are run through", "next 1", false, habit(gdb.next), (*machine).cpuNumbers},
		{"finish", nil, "[CPU]", "run on until what a CPU runs returns: a function, a handler, a routine", "finish 1",
			false, habit(gdb.finish), (*machine).cpuNumbers},
		{"until", []string{"u", "advance"}, "FUNC[+OFFSET]|ADDRESS|EVENT [CPU|PLACE]|PROPERTY",
			"run on to there: break, continue, delete", "until victim+4", false, habit(gdb.until),
			(*machine).breakable},
		{"continue", []string{"c"}, "", "run until nothing moves, without letting a task begin", "continue", true,
			(*sh).goOn, nil},
		{"run", []string{"r"}, "[TASK…]", "let the scenario's tasks begin, all or those, and run until nothing moves",
			"run prober", true, (*sh).run, (*machine).taskNames},
		{"start", nil, "[TASK…]", "let the tasks begin, and stop there", "start caller", true, (*sh).start,
			(*machine).taskNames},
		{"wait", nil, "", "run until what was begun has ended, and the optimizer has no work left", "wait", true,
			(*sh).wait, nil},
		{"where", []string{"ps"}, "", "print where each CPU and task is, and what can move", "where", false,
			(*sh).where, nil},
		{"cpu", []string{"thread"}, "[CPU]",
			"print what a CPU runs, and select it for next, finish, backtrace, print and text; " +
				"by default they are about the CPU that moved last", "cpu 1", false, habit(gdb.cpu), (*machine).cpuNumbers},
		{"when", nil, "", "say at which step and event the run stands", "when", false, habit(gdb.when), nil},
		{"info", []string{"i"}, "[WHAT…]", "what gdb calls so: registers, breakpoints, threads, probes and others; " +
			"alone: list them", "info registers 1", false, habit(gdb.info), words(infoNames)},
		{"backtrace", []string{"bt"}, "[CPU]", "print what a CPU runs, and what called or interrupted what",
			"backtrace 1", false, habit(gdb.backtrace), (*machine).cpuNumbers},
		{"print", []string{"p", "inspect", "sym"}, "$REG|SYMBOL[+OFFSET]|*ADDRESS|*$REG|PROBE…",
			"print registers, symbols, 8 bytes of memory, probes", "print $rax *victim", false, habit(gdb.print),
			(*machine).printable},
		{"list", []string{"l"}, "", "print the scenario: its functions, probes and tasks", "list | grep task", false,
			habit(gdb.list), nil},
		{"regs", nil, "[CPU]", "print registers", "regs 1", false, (*sh).regs, (*machine).cpuNumbers},
		{"text", []string{"disassemble", "disas", "dis"}, "[FUNC]",
			"list a function, by default the one in which a CPU stands: its bytes in memory, the older ones, where CPUs " +
				"stand, and what each may still fetch", "text victim", false, (*sh).text, (*machine).functions},
		{"x", []string{"rd"}, "ADDRESS|SYMBOL[+OFFSET]|$REG[+OFFSET] [N]",
			"print N bytes of memory, and as instructions; of data, as words of 8 bytes; x/4i: four instructions",
			"x victim 5", false,
			(*sh).examine, (*machine).symbols},
		{"hits", nil, "", "print how often each probe was hit and missed", "hits", false, (*sh).hits, nil},
		{"dmesg", []string{"log"}, "", "print what the kernel has printed", "dmesg | tail -3", false, (*sh).dmesg, nil},
		{"events", nil, "[N]", "print about N of the events so far, by CPU", "events 20 | grep store", false,
			(*sh).events, nil},
		{"break", []string{"b"}, "[FUNC[+OFFSET]|ADDRESS|[before] EVENT [CPU|PLACE]|before PLACE|PROPERTY]",
			"stop before an instruction, after an event of a kind (of a CPU, or about a function or an address) or " +
				"before its step, before a store to a place, or before the step that breaks a property; alone: list " +
				"breakpoints. On a kernel's engine FUNC may be one of the kernel's", "break before TextStore victim", false,
			(*sh).breakAt, (*machine).breakable},
		{"watch", nil, "ADDRESS|SYMBOL[+OFFSET] [N]|VARIABLE",
			"stop when one of N bytes is written, and print them before and after; without N, of 8 bytes of data or 5 " +
				"of text. A store to data that changes nothing doesn't stop. Or stop when a variable of the kernel is " +
				"stored to: watch optimizing list",
			"watch victim", false, (*sh).watch, (*machine).symbols},
		{"delete", []string{"d"}, "N…|all", "delete breakpoints and watchpoints", "delete all", false,
			(*sh).deleteStops, fixed("all")},
		{"back", []string{"reverse-step", "rs", "reverse-stepi", "undo"}, "[N]",
			"go back N steps; what was typed since is forgotten", "back 10", false, (*sh).back, nil},
		{"reverse-next", []string{"rn", "reverse-nexti"}, "[CPU]",
			"go back to where a CPU stood at another instruction of its function, or of one that called it",
			"reverse-next 1", false, habit(gdb.reverseNext), (*machine).cpuNumbers},
		{"reverse-continue", []string{"rc"}, "", "go back to where a breakpoint or watchpoint was met last",
			"reverse-continue", false, habit(gdb.reverseContinue), nil},
		{"goto", nil, "EVENT", "go to where the event of that number has just happened, backwards or on", "goto 120",
			false, (*sh).goTo, nil},
		{"save", nil, "FILE.kps", "write the run so far as a trace for replay, explain and shell",
			"save mine.kps", false, (*sh).save, nil},
		{"open", nil, "SCENARIO|TRACE", "begin anew, with another scenario or trace", "open torn-jump", false,
			(*sh).open, words(library.Names)},
		{"fetch", nil, "oldest|fresh|N|decided …", "have CPUs see the oldest text that they may see, the newest, or " +
			"the Nth older one; decided: what the trace or the seed decides. Several answer the next questions in " +
			"turn, and the last one all that follow: an instruction that was written in parts has a question for each part",
			"fetch fresh 1", true, (*sh).fetch, fixed("oldest", "fresh", "decided")},
		{"trace", nil, "on|off", "print each call of a handler, or don't", "trace off", false, (*sh).trace,
			fixed("on", "off")},
		{"exit", []string{"quit", "q"}, "", "end", "exit", false, (*sh).exit, nil},
	}
}

// helpGroups is the order in which help lists the commands. Each command is in one group.
var helpGroups = []struct {
	title string
	words []string
}{
	{"To begin with", []string{"run", "step", "next", "where", "text", "events", "break", "back"}},
	{"Run", []string{"start", "continue", "until", "finish", "wait", "fetch"}},
	{"Stop and go back", []string{"watch", "delete", "goto", "reverse-next", "reverse-continue"}},
	{"Look", []string{"list", "cpu", "backtrace", "regs", "print", "x", "info", "when", "hits", "dmesg"}},
	{"Call and probe", []string{"call", "kprobe", "kretprobe", "jprobe", "register", "unregister", "enable", "disable",
		"trace"}},
	{"Modules and files of the kernel", []string{"insmod", "rmmod", "lsmod", "cat", "echo", "ls", "sysctl"}},
	{"The session", []string{"help", "save", "open", "exit"}},
}

// helpLine prints a command and what it does.
func helpLine(p *cli.Program, w *shellWord, width int) {
	line := fmt.Sprintf("  %-*s  %s", width, w.word, w.says)
	if p.Width == 0 || view.Visible(line) <= p.Width {
		fmt.Fprintln(p.Out, line)
		return
	}
	fmt.Fprintln(p.Out, "  "+w.word)
	p.Indented("  "+cli.Indent, w.says)
}

func (h *sh) help(args []string) error {
	width := 0
	for _, w := range shellWords {
		width = max(width, len(w.word))
	}
	found, typed := false, ""
	if len(args) > 0 {
		if w, _, err := wordOf(args[0]); err == nil {
			typed = w.word
		}
	}
	if len(args) == 0 {
		for _, g := range helpGroups {
			fmt.Fprintf(h.p.Out, "%s:\n", g.title)
			for _, word := range g.words {
				w, _, _ := wordOf(word) // a test has each of them
				helpLine(h.p, w, width)
			}
		}
		fmt.Fprintln(h.p.Out, "What a command prints may be filtered:")
	}
	for _, w := range shellWords {
		if typed == w.word {
			found = true
			h.p.Indented("", strings.TrimSpace(w.word+" "+w.args))
			h.p.Indented("  ", w.says)
			h.p.Indented("  ", "example: "+w.example)
			if len(w.also) > 0 {
				h.p.Indented("  ", "also: "+cli.List(w.also))
			}
		}
	}
	for _, f := range filterWords {
		if len(args) == 0 {
			h.p.Indented(cli.Indent, "| "+f.word+"  "+f.says)
		} else if f.word == args[0] {
			found = true
			h.p.Indented("", "COMMAND | "+f.word+" "+f.args)
			h.p.Indented("  ", f.says)
			h.p.Indented("  ", "example: "+f.example)
		}
	}
	if len(args) > 0 && !found {
		if _, _, err := wordOf(args[0]); err != nil {
			return fmt.Errorf("%w, help step explains one", err)
		}
	}
	return nil
}
