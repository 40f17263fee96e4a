package build

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/ui/cli/inputs"
)

// A Scenario is a scenario under construction. It isn't safe for concurrent use.
type Scenario struct {
	name    string
	program *lang.Program
	about   []lang.Named
	at      lang.Line
	pending []*call // parts that the program doesn't have yet: options may be added to them
	once    map[string]*call
	made    *scenario.Scenario
	err     error
}

// New begins a scenario. Its object files are looked for in the folder of the test, then among those of the library.
func New(name string) *Scenario {
	at := here()
	return &Scenario{name: name, at: at, program: lang.NewProgram(name, at, inputs.Beside(".")),
		once: make(map[string]*call)}
}

// Of returns a finished scenario. It is for packages of kpsim that make scenarios.
func Of(s *scenario.Scenario) *Scenario {
	return &Scenario{name: s.Name, program: lang.NewProgram(s.Name, lang.Line{}, nil), made: s}
}

// Says says in a sentence what the scenario shows.
func (s *Scenario) Says(text string) *Scenario { return s.with("says", text) }

// Needs says what shrinking a violation must keep: "interrupt", or "nothing", the default.
func (s *Scenario) Needs(what string) *Scenario { return s.with("needs", what) }

func (s *Scenario) with(name, value string) *Scenario {
	s.mustGoOn(here(), name+" is said")
	s.about = append(s.about, lang.Named{Name: name, Value: value})
	return s
}

// Insns returns the offsets of a function's instructions. What is made up to here is made: its options can't be
// changed after this. It returns none after a mistake, which the search says.
func (s *Scenario) Insns(f Function) []int {
	at := here()
	s.flush()
	starts := s.program.Call("insns", at, []any{f.in(s)}, nil)
	if err := s.program.Err(); err != nil {
		s.made, s.err = nil, err
	}
	return starts.Ints()
}

// Scenario finishes the scenario and returns it, or the first mistake in it. It is for kpsimtest.
func (s *Scenario) Scenario() (*scenario.Scenario, error) {
	if s.made == nil && s.err == nil {
		s.flush()
		s.program.Call("scenario", s.at, []any{s.name}, s.about)
		s.made, s.err = s.program.Scenario()
	}
	return s.made, s.err
}

// String returns the scenario as a .star file that rebuilds it, or the first mistake in it.
func (s *Scenario) String() string {
	made, err := s.Scenario()
	if err != nil {
		return err.Error()
	}
	return lang.Print(made)
}

// flush makes the parts that are pending.
func (s *Scenario) flush() {
	for _, c := range s.pending {
		s.add(c)
	}
	s.pending = s.pending[:0]
}

// add makes a part, after those that it names, whichever was written first.
func (s *Scenario) add(c *call) {
	if c.begun {
		return
	}
	c.begun = true
	c.value = s.program.Call(c.word, c.at, resolved(s, c.args), c.options(s))
	c.made = true
}

// A call is a call of a function of the language.
type call struct {
	word  string
	at    lang.Line
	args  []any
	named []lang.Named
	begun bool // it is being made, or made
	made  bool
	value lang.Value // once it is made
}

func newCall(word string, args ...any) *call { return &call{word: word, at: here(), args: args} }

// make records a part.
func (s *Scenario) make(word string, args ...any) part {
	c := newCall(word, args...)
	s.mustGoOn(c.at, word+" is made")
	s.pending = append(s.pending, c)
	return part{s, c}
}

// mustGoOn makes it a mistake that something comes after the scenario was finished.
func (s *Scenario) mustGoOn(at lang.Line, what string) {
	if s.made != nil || s.err != nil {
		s.program.Fail(at, what+" after the scenario was searched; do it before")
		s.made, s.err = nil, s.program.Err()
	}
}

// only is make of what there is one of.
func (s *Scenario) only(word string) part {
	if s.once[word] == nil {
		s.once[word] = s.make(word).call
	}
	return part{s, s.once[word]}
}

// set adds an option, or more of a list.
func (c *call) set(name string, value any) {
	if more, is := value.([]any); is {
		for i := range c.named {
			if list, was := c.named[i].Value.([]any); was && c.named[i].Name == name {
				c.named[i].Value = append(list, more...)
				return
			}
		}
	}
	c.named = append(c.named, lang.Named{Name: name, Value: value})
}

func (c *call) options(s *Scenario) []lang.Named {
	list := make([]lang.Named, len(c.named))
	for i, n := range c.named {
		list[i] = lang.Named{Name: n.Name, Value: resolve(s, n.Value)}
	}
	return list
}

// A valuer is a value that is known in the program of a scenario.
type valuer interface{ in(s *Scenario) any }

func resolved(s *Scenario, args []any) []any {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = resolve(s, a)
	}
	return list
}

func resolve(s *Scenario, x any) any {
	switch x := x.(type) {
	case []any:
		return resolved(s, x)
	case valuer:
		return x.in(s)
	case uint:
		return uint64(x)
	case uint32:
		return uint64(x)
	case int32:
		return int64(x)
	}
	return x // Call refuses what it doesn't know
}

// A part is a part of a scenario, as it was made.
type part struct {
	s    *Scenario
	call *call
}

func (p part) set(name string, value any) {
	if p.call.begun {
		p.s.program.Fail(here(), fmt.Sprintf("%s of %s is said too late; say it before Insns and before the search",
			name, p.call.word))
		return
	}
	p.call.set(name, value)
}

// in returns the part, or, while it is being made, the name that stands for it.
func (p part) in(s *Scenario) any {
	if p.s != s {
		s.program.Fail(p.call.at, fmt.Sprintf("%s was made in another scenario; make it in this one", p.call.word))
		return nil
	}
	if s.add(p.call); !p.call.made {
		return p.call.args[0]
	}
	return p.call.value
}

// GoString names the part, for what draws parts and prints them.
func (p part) GoString() string {
	return fmt.Sprintf("%s(%v)", p.call.word, p.call.args[:min(len(p.call.args), 1)])
}

// An Op is an operation of a task.
type Op interface {
	valuer
	op()
}

// A Step is a step of a handler.
type Step interface {
	valuer
	step()
}

// A deed is an operation or a step.
type deed struct{ *call }

func (d deed) in(s *Scenario) any {
	return s.program.Call(d.word, d.at, resolved(s, d.args), d.options(s))
}

type anOp struct{ deed }

func (anOp) op() {}

type aStep struct{ deed }

func (aStep) step() {}

// both is an operation that is a step of a handler, too, if it has no options.
type both struct{ deed }

func (both) op()   {}
func (both) step() {}

// Written is what Write stores.
type Written interface {
	valuer
	written()
}

type writtenForm struct{ deed }

func (writtenForm) written() {}

// Hex is bytes that Write stores: "e9 00 00 00 00".
type Hex string

func (h Hex) in(*Scenario) any { return string(h) }
func (Hex) written()           {}

// A Word is a word of 64 bits: an int, int64 or uint64, or the address of a Place or a DataPlace.
type Word any

// A Function is a function: *Text, *Code, *Stub, or one of an Object.
type Function interface {
	Place
	Functions
	Entry
	function()
}

// Functions is one function, or several (All).
type Functions interface {
	valuer
	functions()
}

// All is several functions where a parameter takes one or more.
type All []Function

func (a All) in(s *Scenario) any { return resolved(s, list(a)) }
func (All) functions()           {}

// A Place is a place in a function: the function, for its first byte, or what Plus returns.
type Place interface {
	Places
	Plus(n int) Place
	place()
}

// Places is one place, or several (Sites).
type Places interface {
	valuer
	places()
}

// Sites is several places where a parameter takes one or more.
type Sites []Place

func (a Sites) in(s *Scenario) any { return resolved(s, list(a)) }
func (Sites) places()              {}

// An Entry is what a jprobe calls: a function, or Steps.
type Entry interface {
	valuer
	entry()
}

// Steps is the steps of a jprobe.
type Steps []Step

func (a Steps) in(s *Scenario) any { return resolved(s, list(a)) }
func (Steps) entry()               {}

// A Block is data as a whole: *Data, *Percpu, or that of an Object.
type Block interface {
	DataPlace
	block()
}

// A DataPlace is a place in data: the data, for its first byte, or what Plus returns.
type DataPlace interface {
	valuer
	Plus(n int) DataPlace
	dataPlace()
}

// A Callee is a function, or an Export.
type Callee interface{ valuer }

// Export is a function that the kernel exports: "do_exit".
type Export string

func (e Export) in(*Scenario) any { return string(e) }

// aFunction is what makes functions.
type aFunction struct{ part }

func (aFunction) function()  {}
func (aFunction) functions() {}
func (aFunction) place()     {}
func (aFunction) places()    {}
func (aFunction) entry()     {}

// Plus returns the place n bytes after the function's first byte.
func (f aFunction) Plus(n int) Place { return inFunction{sum{f, n, here()}} }

// aBlock is what makes data.
type aBlock struct{ part }

func (aBlock) block()     {}
func (aBlock) dataPlace() {}

// Plus returns the place n bytes after the first byte of the data.
func (d aBlock) Plus(n int) DataPlace { return inData{sum{d, n, here()}} }

// A sum is a place some bytes after another.
type sum struct {
	of valuer
	n  int
	at lang.Line
}

func (p sum) in(s *Scenario) any {
	v, _ := p.of.in(s).(lang.Value)
	return s.program.Plus(p.at, v, p.n)
}

type inFunction struct{ sum }

func (inFunction) place()             {}
func (inFunction) places()            {}
func (p inFunction) Plus(n int) Place { return inFunction{sum{p.of, p.n + n, here()}} }

type inData struct{ sum }

func (inData) dataPlace()             {}
func (p inData) Plus(n int) DataPlace { return inData{sum{p.of, p.n + n, here()}} }

// anObject is what loads object files.
type anObject struct{ part }

// Func returns a function of the object file.
func (o anObject) Func(name string) Function { return ofFunction{symbol{o, name, here()}} }

// Block returns data of the object file.
func (o anObject) Block(name string) Block { return ofData{symbol{o, name, here()}} }

// Module returns the module that the object file, a .ko, is.
func (o anObject) Module() AnyModule { return ofModule{o} }

// A symbol is a symbol of an object file.
type symbol struct {
	of   anObject
	name string
	at   lang.Line
}

func (y symbol) in(s *Scenario) any {
	v, _ := y.of.in(s).(lang.Value)
	return s.program.Symbol(y.at, v, y.name)
}

// GoString names the symbol.
func (y symbol) GoString() string { return y.name }

type ofFunction struct{ symbol }

func (ofFunction) function()          {}
func (ofFunction) functions()         {}
func (ofFunction) place()             {}
func (ofFunction) places()            {}
func (ofFunction) entry()             {}
func (f ofFunction) Plus(n int) Place { return inFunction{sum{f, n, here()}} }

type ofData struct{ symbol }

func (ofData) block()                 {}
func (ofData) dataPlace()             {}
func (d ofData) Plus(n int) DataPlace { return inData{sum{d, n, here()}} }

type ofModule struct{ anObject }

func (ofModule) anyModule() {}

// list returns elements as arguments.
func list[T any](elements []T) []any {
	args := make([]any, len(elements))
	for i, x := range elements {
		args[i] = x
	}
	return args
}

// errnoOf returns what stands for an errno: "" is success.
func errnoOf(name string) any {
	if name == "" {
		return 0
	}
	return name
}

// own begins the names of the functions of this package, and of the one that draws.
var own = [...]string{"kpsim/kpsimtest/build.", "kpsim/kpsimtest/draw."}

// here returns the line of Go that has called these packages.
func here() lang.Line {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, own[0]) && !strings.HasPrefix(f.Function, own[1]) {
			return lang.Line{File: filepath.Base(f.File), Line: f.Line}
		}
		if !more {
			return lang.Line{File: "?"}
		}
	}
}
