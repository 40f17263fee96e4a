package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/smp/arch"
	"kpsim/smp/kernel"
)

const defaultCPUs = 2

// A verb is one builtin of the language (not a command, which cmd/kpsim calls a verb too). sig is its
// signature, which ends a message about a wrong call; says is its text in docs/scenarios.md.
type verb struct {
	sig    string
	do     func(*loader, *call) (starlark.Value, error)
	says   string
	kernel []string // the kernel's names for it
}

func (v verb) name() string {
	name, _, _ := strings.Cut(v.sig, "(")
	return name
}

// A chapter is a group of related functions of the language.
type chapter struct {
	title string
	verbs []verb
}

// chapters is the whole language; docs/scenarios.md is made from it.
var chapters = []chapter{
	{"The machine", []verb{
		{sig: `scenario(name = None, says = "", needs = "nothing")`, do: (*loader).doScenario,
			says: "`name` is the scenario's (by default the file's), `says` a sentence that says what it shows; " +
				"`needs`: what shrinking a violation must keep: `\"interrupt\"`, see [below](#what-is-expected)"},
		{sig: machineSig(), do: (*loader).doMachine,
			says: "the machine and its kernel: its settings have the next table of docs/scenarios.md"},
	}},
	{"Text and data", slices.Concat(makers(scenario.TheTexts, scenario.TheDatas, scenario.TheAliases), []verb{
		{sig: `elf(file, at = None)`, do: (*loader).doELF,
			says: "all functions and data of a `.o` file: `o.f`, `o[\"f.part.0\"]`, `o.counter`, `o[\".data\"]`. " +
				"Its references are looked up among the functions and data above it, then among the kernel's " +
				"exports: `cond_resched`, `cond_resched_tasks_rcu_qs`, `do_exit`, which ends the program that " +
				"calls it, `jprobe_return`, and what a patcher calls (" + serviceNames() + "; " +
				"[what each does](cross-modifying-code.md#what-a-patcher-calls)). For a kernel module, a `.ko` " +
				"file: only the named functions, and those that they refer to; its text is patched as a kernel patches it while loading"},
		{sig: `stub(name, returns = 0, fill = None, calls = None)`, do: (*loader).doStub,
			says: "a stand-in for one of the kernel's functions, for objects below it. `fill = (1, \"00ff\")`: it " +
				"stores these bytes where its first argument points to; then it returns the number `returns`, or " +
				"continues in the function `calls`, or in one that the kernel exports: `calls = \"do_exit\"`"},
	}, makers(scenario.TheMissing), []verb{
		{sig: `insns(f)`, do: (*loader).doInsns,
			says: "the offsets of a function's instructions, for loops: `[0, 1, 4]`"},
	})},
	{"Probes, and what is patched", makers(between(scenario.InProbes, scenario.InOthers)...)},
	{"Steps of a handler", steps()},
	{"Programs", slices.Concat(makers(scenario.TheTasks), operations(), writtenForms())},
	{"Interrupts", makers(scenario.TheSources)},
	{"What is expected", []verb{
		{sig: `never(canary = None)`, do: (*loader).doNever,
			says: "no schedule breaks any property. `canary`: with this mutant some schedule must, which shows " +
				"that the search isn't blind. This is the default"},
		{sig: `sometimes(property)`, do: (*loader).doSometimes,
			says: "some schedule breaks the `property` with this name or ID, `\"T2\"`; `kpsim list` prints them"},
	}},
}

// serviceNames lists what a patcher in compiled code calls.
func serviceNames() string {
	var list []string
	kernel.Services(func(name, _ string) { list = append(list, "`"+name+"`") })
	return strings.Join(list, ", ")
}

// language is the functions of all chapters.
var language = slices.Concat(func() (list [][]verb) {
	for _, c := range chapters {
		list = append(list, c.verbs)
	}
	return list
}()...)

// verbs lists the names of the language.
func verbs() []string {
	names := make([]string, len(language))
	for i, v := range language {
		names[i] = v.name()
	}
	return names
}

func (l *loader) builtins() starlark.StringDict {
	d := make(starlark.StringDict)
	l.budget.guardedFunctions(d)
	l.budget.operators(d)
	for _, v := range language {
		do := v.do
		d[v.name()] = starlark.NewBuiltin(v.name(),
			func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value,
				error) {
				c := &call{l: l, sig: v.sig, name: b.Name(), args: args, kwargs: kwargs, at: l.top()}
				if t.CallStackDepth() > 1 {
					c.at = l.callee(t.CallFrame(1).Pos, b.Name())
				}
				if err := l.budget.paid(args, kwargs); err != nil {
					return nil, err
				}
				r, err := do(l, c)
				if err != nil {
					return nil, err
				}
				return r, nil
			})
	}
	return d
}

// A call is one call of a builtin.
type call struct {
	l      *loader
	sig    string
	name   string
	args   starlark.Tuple
	kwargs []starlark.Tuple
	at     syntax.Position
}

// unpack is starlark.UnpackArgs with other errors: they end with the signature, the default of the
// wrong parameter, or the parameter that was probably meant.
func (c *call) unpack(pairs ...any) error {
	err := starlark.UnpackArgs(c.name, c.args, c.kwargs, pairs...)
	if err == nil {
		return nil
	}
	says := strings.TrimPrefix(err.Error(), c.name+": ")
	if rest, ok := strings.CutPrefix(says, "unexpected keyword argument "); ok {
		name, _, _ := strings.Cut(strings.Trim(rest, `"`), `"`)
		return fmt.Errorf("%s() has no parameter %q; %s", c.name, name, nearest.OrAll(name, c.parameters()))
	}
	if rest, ok := strings.CutPrefix(says, "for parameter "); ok {
		name, wrong, _ := strings.Cut(rest, ": ")
		name = strings.Trim(name, `"`)
		if otherwise := c.defaultOf(name); otherwise != "" {
			return fmt.Errorf("%s: for parameter %s: %s; its default is %s = %s", c.name, name, wrong, name, otherwise)
		}
	}
	if len(c.sig) > longestSig {
		return err
	}
	return fmt.Errorf("%v; write %s", err, c.sig)
}

// longestSig is the longest signature that a message includes.
const longestSig = 200

// parameters lists the names that a call takes, but those of any number.
func (c *call) parameters() (names []string) {
	_, list, _ := strings.Cut(strings.TrimSuffix(c.sig, ")"), "(")
	for p := range strings.SplitSeq(list, ", ") {
		if name, _, _ := strings.Cut(p, " = "); name != "" && name[0] != '*' {
			names = append(names, name)
		}
	}
	return names
}

// defaultOf returns a parameter's default, "" if it is required.
func (c *call) defaultOf(name string) string {
	_, list, _ := strings.Cut(strings.TrimSuffix(c.sig, ")"), "(")
	for p := range strings.SplitSeq(list, ", ") {
		if word, value, _ := strings.Cut(p, " = "); word == name {
			return value
		}
	}
	return ""
}

// deed is what a call returns if it says what to do.
func (l *loader) deed(c *call, op *scenario.Op, step *scenario.Step) deed {
	d := deed{verb: c.name, op: op, step: step, at: c.at, used: new(bool)}
	l.made = append(l.made, d)
	return d
}

// idle returns an error that names a call that says what to do, and isn't given to any task or handler, wherever its
// line is executed; nil if there is none.
func (l *loader) idle() error {
	used := make(map[syntax.Position]bool)
	for _, d := range l.made {
		used[d.at] = used[d.at] || *d.used
	}
	for _, d := range l.made {
		switch {
		case used[d.at]:
		case d.op != nil:
			return l.failf(d.at, "this %s() is in no task: nothing does it; put it into a task's ops, or leave it out",
				d.verb)
		default:
			return l.failf(d.at, "this %s() is in no handler: nothing does it; put it into a probe's pre or post, or "+
				"leave it out", d.verb)
		}
	}
	return nil
}

// calledOnce lists the functions that a program may call at most once.
var calledOnce = [...]string{"scenario", "machine", "never"}

func (l *loader) checkOnce(name string) error {
	what := name
	if name == "sometimes" {
		what = "never"
	}
	for i, o := range calledOnce {
		if o != what {
			continue
		}
		if l.said[i] {
			if what == "never" {
				return errors.New("what is expected was said before; a scenario has one never() or sometimes()")
			}
			return fmt.Errorf("%s() was called before; call it once", name)
		}
		l.said[i] = true
	}
	return nil
}

func (l *loader) doScenario(c *call) (starlark.Value, error) {
	needs := scenario.NeedsWords[0]
	err := c.unpack("name??", &l.s.Name, "says?", &l.s.Says, "needs?", &needs)
	if err != nil {
		return nil, err
	}
	if l.s.Needs, err = nearest.Lookup[scenario.Needs]("needs", needs, scenario.NeedsWords); err != nil {
		return nil, err
	}
	l.position[scenario.PartOf(scenario.TheScenario, 0)] = c.at
	return starlark.None, l.checkOnce(c.name)
}

func (l *loader) doNever(c *call) (starlark.Value, error) {
	var e scenario.Expect
	if err := c.unpack("canary??", &e.Canary); err != nil {
		return nil, err
	}
	l.s.Expect = e
	l.position[scenario.PartOf(scenario.TheExpect, 0)] = c.at
	return starlark.None, l.checkOnce(c.name)
}

func (l *loader) doSometimes(c *call) (starlark.Value, error) {
	e := scenario.Expect{Sometimes: true}
	if err := c.unpack("property", &e.Property); err != nil {
		return nil, err
	}
	if p, ok := properties.ByName(e.Property); ok {
		e.Property = p.Name // its ID may have been given
	}
	l.s.Expect = e
	l.position[scenario.PartOf(scenario.TheExpect, 0)] = c.at
	return starlark.None, l.checkOnce(c.name)
}

// number reads a 64-bit word: an integer, a negative one as its two's
// complement, or the address of a location.
func number(what string, v starlark.Value) (uint64, error) {
	switch v := v.(type) {
	case location:
		return v.address(), nil
	case starlark.Int:
		if u, ok := v.Uint64(); ok {
			return u, nil
		}
		if i, ok := v.Int64(); ok {
			return uint64(i), nil
		}
		return 0, fmt.Errorf("%s doesn't fit in 64 bits; give a smaller number", what)
	}
	return 0, fmt.Errorf("%s is %s; give a number, a function or data", what, describe(v))
}

// address reads an optional address.
func address(v starlark.Value, otherwise arch.Addr) (arch.Addr, error) {
	if v == nil {
		return otherwise, nil
	}
	n, err := number("at", v)
	return arch.Addr(n), err
}

// function reads a location in a function.
func function(what string, v starlark.Value) (location, error) {
	if p, ok := v.(location); ok && p.what == "function" {
		return p, nil
	}
	return location{}, fmt.Errorf("%s is %s; give a function, as text() or elf() returns it", what, describe(v))
}

// functionStart reads a function to call: a location at its start.
func functionStart(what string, v starlark.Value) (location, error) {
	p, err := function(what, v)
	if err == nil && p.off != 0 {
		err = fmt.Errorf("%s is %s; a function is called at its start", what, p)
	}
	return p, err
}

// dataPlace reads a place in data.
func dataPlace(what string, v starlark.Value) (location, error) {
	if d, ok := v.(location); ok && d.what == "data" {
		return d, nil
	}
	return location{}, fmt.Errorf("%s is %s; give data, as data() returns it", what, describe(v))
}
