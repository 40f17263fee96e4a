package lang

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// dialect is Starlark with for and if outside functions: a scenario is a list.
var dialect = &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}

// Load runs the Starlark program src once and returns the scenario it builds.
// name stands in messages, and without .star it is the scenario's name unless
// the program gives one. open reads the object files that the program names;
// nil if there are none to be had, as for a trace.
//
// An error is one line, "file:line:col: what is wrong; what to do".
//
// It bounds what a program takes, whatever the program says: some 64 MB of
// values and a second of a CPU (bounds.go). What open returns is open's to bound.
func Load(name string, src []byte, open func(file string) ([]byte, error)) (*scenario.Scenario, error) {
	l, err := load(name, src, open)
	if err != nil {
		return nil, err
	}
	return &l.s, nil
}

// load is Load, and records where everything was written.
func load(name string, src []byte, open func(file string) ([]byte, error)) (*loader, error) {
	l := newLoader(name, src, open)
	if err := l.tooLong(src); err != nil {
		return nil, err
	}

	thread := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxProgram)
	thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(errSteps.Error()) }
	l.budget.thread = thread
	thread.Load = func(*starlark.Thread, string) (starlark.StringDict, error) {
		return nil, errors.New("a scenario is one file; copy what you need into it")
	}
	if err := l.exec(thread, src); err != nil {
		return nil, l.explain(err)
	}

	l.addSites()
	if err := Check(&l.s); err != nil {
		return nil, l.locate(err)
	}
	return l, nil
}

// newLoader returns the empty scenario that src, a program, is to fill.
func newLoader(name string, src []byte, open func(file string) ([]byte, error)) *loader {
	l := &loader{
		file:     name,
		lines:    strings.Split(string(src), "\n"),
		open:     open,
		text:     scenario.TextBase,
		data:     scenario.DataBase,
		symbols:  make(map[string]arch.Addr),
		position: make(map[scenario.Part]syntax.Position),

		padding:     make(map[string]int),
		blacklisted: make(map[arch.Addr]bool),
		budget:      budget{thread: new(starlark.Thread)},
	}
	l.s.Name = strings.TrimSuffix(path.Base(name), ".star")
	l.s.Machine.CPUs = defaultCPUs
	l.s.Machine.Settle()
	return l
}

// tooLong refuses a program that is too long.
func (l *loader) tooLong(src []byte) error {
	if len(src) <= scenario.MaxSource {
		return nil
	}
	return l.failf(l.top(), "the program has %d bytes, at most %d; put code into an object file", len(src),
		scenario.MaxSource)
}

// Syntax returns the syntax tree of a program, which it doesn't run. Its bounds and errors are those of
// Load.
func Syntax(name string, src []byte) (*syntax.File, error) {
	l := newLoader(name, src, nil)
	if err := l.tooLong(src); err != nil {
		return nil, err
	}
	f, err := dialect.Parse(name, src, 0)
	if err == nil {
		err = addGuards(f)
	}
	if err != nil {
		return nil, l.explain(err)
	}
	return dialect.Parse(name, src, 0) // again: f has guards now
}

// exec runs the program.
func (l *loader) exec(thread *starlark.Thread, src []byte) error {
	f, err := dialect.Parse(l.file, src, 0)
	if err != nil {
		return err
	}
	if err := addGuards(f); err != nil {
		return err
	}
	builtins := l.builtins()
	program, err := starlark.FileProgram(f, builtins.Has)
	if err != nil {
		return err
	}
	_, err = program.Init(thread, builtins)
	return err
}

// A loader holds the scenario under construction.
type loader struct {
	file        string
	lines       []string        // of the program
	begins      syntax.Position // of a Program; not valid: at the file's beginning
	line        func(n int) int // of the file that a line of the program is, for messages; nil: the same
	open        func(file string) ([]byte, error)
	s           scenario.Scenario
	text        arch.Addr // where the next function is put
	data        arch.Addr // where the next block is put
	zeros       int       // bytes of blocks that the program doesn't spell out
	symbols     map[string]arch.Addr
	sites       []image.Site                      // that tables of objects name
	padding     map[string]int                    // bytes at the end of a function of an object that only fill a gap
	blacklisted map[arch.Addr]bool                // functions of objects
	position    map[scenario.Part]syntax.Position // where each part was written
	made        []deed                            // operations and steps, used or not
	said        [len(calledOnce)]bool             // which of the calls of calledOnce were made
	budget      budget                            // what is left for the program
}

// top is where the program begins.
func (l *loader) top() syntax.Position {
	if l.begins.IsValid() {
		return l.begins
	}
	return syntax.MakePosition(&l.file, 1, 1)
}

// callee moves the position of a call, which is that of its parenthesis, to the
// name that stands before it.
func (l *loader) callee(at syntax.Position, name string) syntax.Position {
	const long = 4096 // bytes of a line: each of its calls would go through all of it
	if n := int(at.Line) - 1; n >= 0 && n < len(l.lines) && len(l.lines[n]) <= long {
		line := []rune(l.lines[n])
		if end := int(at.Col) - 1; end >= 0 && end <= len(line) && strings.HasSuffix(string(line[:end]), name) {
			at.Col -= int32(len(name)) // they are all ASCII
		}
	}
	return at
}

// maxMessage bounds the length of a message in bytes: names may be long.
const maxMessage = 2000

func (l *loader) failf(at syntax.Position, format string, args ...any) error {
	msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // one line
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage/2], "") + " … " + strings.ToValidUTF8(msg[len(msg)-maxMessage/2:], "")
	}
	if l.line != nil {
		at.Line = int32(l.line(int(at.Line)))
	}
	return fmt.Errorf("%s: %s", at, msg)
}

// locate puts the place in front of an error of Check.
func (l *loader) locate(err error) error {
	var f *scenario.Fault
	if !errors.As(err, &f) {
		return err
	}
	return l.failf(l.subject(l.at(f.Part), f.Msg), "%s", f.Msg)
}

// at returns where a part was written, or else the beginning of the program.
func (l *loader) at(p scenario.Part) syntax.Position {
	for _, p := range []scenario.Part{p, scenario.PartOf(p.List, p.I)} {
		if at, ok := l.position[p]; ok {
			return at
		}
	}
	return l.top()
}

// Locate puts in front of an error about a scenario that was loaded from src where in the program
// it is: that of the part which it names (scenario.Fault), or else the beginning.
func Locate(name string, src []byte, open func(file string) ([]byte, error), err error) error {
	l, failed := load(name, src, open)
	return l.withPlace(name, err, failed)
}

// Where returns the line, from 1, on which a part of a scenario was written that was loaded from src; 1 if the program
// doesn't say where.
func Where(name string, src []byte, open func(file string) ([]byte, error), p scenario.Part) int {
	l, err := load(name, src, open)
	if err != nil {
		return 1
	}
	return max(int(l.at(p).Line), 1)
}

// LocateFrom is Locate of a scenario that ParseFrom has read.
func LocateFrom(name string, src []byte, line func(n int) int, err error) error {
	l, failed := parse(name, src, line)
	return l.withPlace(name, err, failed)
}

// withPlace is Locate where loading the scenario has failed or not.
func (l *loader) withPlace(name string, err, failed error) error {
	if failed != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f := &scenario.Fault{Part: scenario.PartOf(scenario.TheScenario, 0)}
	errors.As(err, &f)
	msg := strings.TrimPrefix(err.Error(), l.s.Name+": ")
	at := l.at(f.Part)
	if !strings.HasPrefix(msg, "run without probes: ") { // what a run did is about no argument
		at = l.subject(at, msg)
	}
	says := l.failf(at, "%s", msg)
	return &located{says.Error(), err}
}

// located is an error with where it is.
type located struct {
	says string
	err  error
}

func (l *located) Error() string { return l.says }
func (l *located) Unwrap() error { return l.err }

// named are what a scenario gives names at the beginning of lines.
var named = lazyregexp.New(`^([A-Za-z_]\w*)[ \t]*=[^=]`)

// suggestion is like the function suggestion, but the scenario's own names come first: the nearest
// ones, or all of them if the undefined name isn't called.
func (l *loader) suggestion(name string, at syntax.Position) string {
	var own []string
	for _, line := range l.lines {
		if m := named().FindStringSubmatch(line); m != nil {
			own = append(own, m[1])
		}
	}
	if says := nearest.DidYouMean(name, own); says != "" {
		return says
	}
	says := suggestion(name)
	n := int(at.Line)
	if n < 1 || n > len(l.lines) || len(own) == 0 || !strings.HasPrefix(says, "there are ") {
		return says
	}
	if _, rest, _ := strings.Cut(l.lines[n-1], name); strings.HasPrefix(strings.TrimSpace(rest), "(") {
		return says
	}
	return nearest.OrAll(name, own)
}

// explain turns an error of Starlark into one line.
func (l *loader) explain(err error) error {
	var parse syntax.Error
	if errors.As(err, &parse) {
		if strings.Contains(parse.Msg, "non-ASCII") && strings.Contains(parse.Msg, "escape") {
			return l.failf(parse.Pos,
				`a byte above 7f is an escape of a string of bytes only; write b"\x55\x89", with a b before it`)
		}
		if strings.Contains(parse.Msg, "; ") { // of guarded, with what to do
			return l.failf(parse.Pos, "%s", parse.Msg)
		}
		if line := l.unclosed(int(parse.Pos.Line)); line > 0 && strings.HasPrefix(parse.Msg, "got ") {
			return l.failf(parse.Pos, "%s; a bracket opened on line %d may not be closed", parse.Msg, line)
		}
		return l.failf(parse.Pos, "%s; a scenario is written in Starlark, a small Python", parse.Msg)
	}
	var unresolved resolve.ErrorList
	if errors.As(err, &unresolved) && len(unresolved) > 0 {
		e := unresolved[0]
		if undefined, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
			undefined, _, _ = strings.Cut(undefined, " ")
			return l.failf(e.Pos, "%s isn't defined; %s", undefined, l.suggestion(undefined, e.Pos))
		}
		return l.failf(e.Pos, "%s; see the language's reference", e.Msg)
	}
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return l.failf(l.top(), "%v", err)
	}
	at := l.top()
	inner := "" // the builtin that failed, if one did
	for i := len(eval.CallStack) - 1; i >= 0; i-- {
		if rest, is := strings.CutPrefix(eval.Msg, "function "+eval.CallStack[i].Name+" "); is && misses(rest) {
			continue // the mistake is in its call
		}
		if pos := eval.CallStack[i].Pos; pos.Line > 0 {
			at = l.callee(pos, inner)
			break
		}
		inner = eval.CallStack[i].Name
	}
	if eval.Msg == "invalid call of non-function (function)" {
		return l.failf(at, "a function of the scenario is called by an operation; write call(f), with its name for f")
	}
	msg := remedied(strings.TrimPrefix(eval.Msg, "Starlark computation cancelled: "))
	return l.failf(l.subject(at, msg), "%s", msg)
}

// misses reports whether a def's message says that a call's arguments aren't its parameters.
func misses(says string) bool {
	return slices.ContainsFunc([]string{"missing", "accepts", "got", "takes"}, func(begins string) bool {
		return strings.HasPrefix(says, begins)
	})
}

// remedies are what to do about Starlark's own errors, which don't say it: a part of the message, and the remedy. The
// first row that matches counts.
var remedies = [][2]string{
	{"called recursively", "Starlark has no recursion: write a loop"},
	{"division by zero", "divide by another number"},
	{"modulo by zero", "divide by another number"},
	{"unknown binary op: function", "an offset is a number: f + 1"},
	{"unknown binary op", "convert one of them: int(s), str(n), \"%d\" % n"},
	{"not implemented", "convert one of them: int(s), str(n), \"%d\" % n"},
	{"field or method", "the language's functions take it as an argument, as call(f) or register(k)"},
	{"invalid call of non-function", "write the name of a function before the bracket"},
	{"not iterable", "give a list"},
	{"want iterable", "give a list"},
	{"out of range", "elements count from 0, and from -1 backward"},
	{"unhashable", "take a name or a number as the key"},
	{"not in dict", "write d.get(k), or add it before"},
	{"cannot load", "copy what you need into this file"},
	{"too many values to unpack", "give as many names as there are values"},
	{"too few values to unpack", "give as many names as there are values"},
	{"range: ", "give whole numbers: range(3), range(1, 4)"},
	{"argument", "give what its def names"},
	{"got ", "give that instead"},
}

// remedied appends what to do to a message that doesn't say it. What the program says by fail() stays.
func remedied(msg string) string {
	if strings.Contains(msg, "; ") || strings.HasPrefix(msg, "fail: ") {
		return msg
	}
	for _, r := range remedies {
		if strings.Contains(msg, r[0]) {
			return msg + "; " + r[1]
		}
	}
	return msg
}

// unclosed returns the line of the last bracket that is opened before a line and not closed before
// it; 0 if there is none. What stands in strings of several lines counts, too: it is for a hint.
func (l *loader) unclosed(before int) int {
	var open []int
	for i, line := range l.lines[:min(max(before-1, 0), len(l.lines))] {
		quote := rune(0)
	scan:
		for _, c := range line {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '#':
				break scan
			case c == '"' || c == '\'':
				quote = c
			case strings.ContainsRune("([{", c):
				open = append(open, i+1)
			case strings.ContainsRune(")]}", c) && len(open) > 0:
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// LoadUsed is Load for searches: a probe that no operation uses is an error,
// too, because no run would test it. In a scenario that is stepped by hand the
// user may register it.
func LoadUsed(name string, src []byte, open func(file string) ([]byte, error)) (*scenario.Scenario, error) {
	l, err := load(name, src, open)
	if err != nil {
		return nil, err
	}
	if err := vet.Unused(&l.s); err != nil {
		return nil, l.locate(err)
	}
	if err := l.idle(); err != nil {
		return nil, err
	}
	return &l.s, nil
}

// Check says what is wrong with a scenario, or nil. Load has checked what it
// returns; call it for a scenario that was built in Go.
func Check(s *scenario.Scenario) error {
	if err := scenario.Check(s); err != nil {
		return err
	}
	return checkSize(s)
}

// checkSize checks that Load accepts what Print prints.
func checkSize(s *scenario.Scenario) error {
	least := 0 // that it prints as, without printing it: what is shared is printed each time
	for i := range s.Texts {
		least += 2 * len(s.Texts[i].Code)
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			least += len("user()") + 2*len(s.Tasks[i].Ops[j].Bytes)
		}
	}
	if least <= scenario.MaxSource {
		p := newPrinter()
		p.most = scenario.MaxSource
		p.scenario(s)
		least = p.b.Len()
	}
	if least > scenario.MaxSource {
		return scenario.Faultf(scenario.PartOf(scenario.TheScenario, 0),
			"the scenario prints as more than %d bytes; leave out functions that nothing runs", scenario.MaxSource)
	}
	return nil
}
