package litmus

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"

	"kpsim/internal/litmus/ctest"
	"kpsim/internal/litmus/run"
	"kpsim/internal/litmus/x86test"
	"kpsim/internal/ui/cli"
)

// A quantifier says what a condition claims of the final states.
type quantifier uint8

// The quantifiers, as x86test and ctest number them.
const (
	exists quantifier = iota
	notExists
	forall
)

func (q quantifier) String() string { return [...]string{"exists", "~exists", "forall"}[q] }

// title is herd7's word for it.
func (q quantifier) title() string { return [...]string{"Allowed", "Forbidden", "Required"}[q] }

// A test is one file, in whatever language, and what came of it.
type test struct {
	path     string
	name     string
	language string
	quant    quantifier
	cond     string // with its quantifier
	races    bool   // the same comment expects a data race
	expected string // "Never", "Sometimes", "Always", "" for nothing
	unknown  bool   // its language is
	filtered bool   // some final states don't count
	memory   run.Memory
	program  run.Explainable
	c        *run.C // the program, of a test in C

	result *run.Result
	story  []run.Line
	shown  *run.Outcome // whose schedule the story is
	static bool         // the story isn't a schedule, but an execution
	err    error
}

// mostTest is how many bytes of a test are read.
const mostTest = 1 << 20

// read reads a test, to be run under a memory model, "" for that of its language.
func read(path string, memory run.Memory) *test {
	t := &test{path: path, memory: memory}
	t.err = t.read()
	return t
}

func (t *test) read() error {
	data, err := cli.ReadFile(t.path, mostTest)
	if err != nil {
		return fmt.Errorf("%s; name a litmus test, or a folder of them", cli.Cause(err, t.path))
	}
	switch t.language = x86test.Language(string(data)); t.language {
	case "X86", "X86_64":
		return t.readX86(string(data))
	case "C":
		return t.readC(data)
	case "":
		return fmt.Errorf("%s:1: this is no litmus test: it begins with a language and a name, as X86_64 SB", t.path)
	}
	t.unknown = true
	return fmt.Errorf("%s:1: the language %q isn't known; X86_64, X86 and C are", t.path, t.language)
}

// model settles the memory model: that of the language, the first, if none was asked for.
func (t *test) model(can ...run.Memory) error {
	if t.memory == "" {
		t.memory = can[0]
	}
	for _, m := range can {
		if m == t.memory {
			return nil
		}
	}
	return fmt.Errorf("%s: --memory %s isn't for tests in %s; give --memory %s", t.path, t.memory, t.language, can[0])
}

func (t *test) readX86(text string) error {
	parsed, err := x86test.Parse(t.path, text)
	if err != nil {
		return err
	}
	prog, err := run.NewX86(parsed)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.name, t.quant, t.cond, t.expected = parsed.Name, quantifier(parsed.Quant), parsed.Cond.String(), parsed.Expected
	t.filtered, t.program = parsed.Filter != nil, prog
	return t.model(run.TSO, run.SC)
}

func (t *test) readC(text []byte) error {
	parsed, err := ctest.Parse(t.path, text)
	if err != nil {
		return err
	}
	if parsed.Prop == nil {
		return fmt.Errorf("%s:%d: there is no condition; a test ends with exists (...), ~exists (...) or forall (...)",
			t.path, 1+bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")))
	}
	if err := t.model(run.LKMM, run.TSO, run.SC); err != nil {
		return err
	}
	prog, err := run.NewC(parsed, t.memory)
	if err != nil {
		return err
	}
	t.name, t.quant, t.cond, t.filtered = parsed.Name, quantifier(parsed.Quantity), prog.PropText(),
		parsed.Filter != nil
	t.program, t.c, t.races = prog, prog, parsed.Races
	switch parsed.Result {
	case "Never", "Sometimes", "Always":
		t.expected = parsed.Result
	}
	return nil
}

// condition is the condition with its quantifier.
func (t *test) condition() string { return fmt.Sprintf("%v (%s)", t.quant, strings.TrimSpace(t.cond)) }

// search runs it.
func (t *test) search(c *Litmus, stop *atomic.Bool, far func(millionths uint64)) {
	if t.err != nil {
		return
	}
	o := run.Options{Memory: t.memory, Most: c.States, Stop: stop, Far: far}
	var judged *run.Result
	if t.c != nil && (t.memory == run.LKMM || t.c.Plain()) {
		judged, t.err = run.Judge(t.c, o)
	}
	switch {
	case t.err != nil:
	case t.memory == run.LKMM:
		t.result = judged
	default:
		if t.result, t.err = run.Search(t.program, o); t.err == nil && judged != nil {
			t.result.Race = judged.Race
		}
	}
	if t.err != nil {
		if !strings.HasPrefix(t.err.Error(), t.path+":") {
			t.err = fmt.Errorf("%s: %w", t.path, t.err)
		}
		return
	}
	if c.Explain {
		t.err = t.tell()
	}
}

// tell finds the story of a witness: a schedule of the machine, or an execution if the machine
// isn't seen to have one.
func (t *test) tell() (err error) {
	o := t.witness()
	if o == nil {
		return nil
	}
	if o.Schedule == nil {
		s, err := run.Schedule(t.c, o, t.memory)
		if err != nil {
			return err
		}
		if s == nil {
			t.story, t.static = t.c.Execution(o), true
			return nil
		}
		o = s
	}
	t.shown = o
	t.story, err = run.Explain(t.program, o, t.memory)
	return err
}

// witness returns the outcome to be explained: one in which the condition holds, or, for forall,
// doesn't hold. Of several it is the one whose schedule has the fewest deviations; nil if there
// is none.
func (t *test) witness() (best *run.Outcome) {
	for i := range t.result.Outcomes {
		o := &t.result.Outcomes[i]
		if o.Holds == (t.quant == forall) {
			continue
		}
		if best == nil || o.Schedule != nil && len(o.Schedule.Choices) < len(best.Schedule.Choices) {
			best = o
		}
	}
	return best
}
