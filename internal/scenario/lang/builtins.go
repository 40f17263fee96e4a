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
)

const defaultCPUs = 2

// A verb is one builtin of the language (not a command, which cmd/kpsim calls a verb too). sig is its
// signature, which ends a message about a wrong call; says is its text in docs/scenarios.md.
type verb struct {
	sig  string
	do   func(*loader, *call) (starlark.Value, error)
	says string
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
		{`scenario(name = None, says = "", needs = "nothing")`, (*loader).doScenario,
			"`name` is the scenario's (else that of the file), `says` a sentence: what it shows; `needs`: what a " +
				"violation goes on passing through while it is shrunk: `\"interrupt\"`, see " +
				"[below](#what-is-expected)"},
		{machineSig(), (*loader).doMachine,
			"the machine and its kernel: see the next table"},
	}},
	{"Text and data", []verb{
		{`text(name, hex, at = None, size = None, extable = [])`, (*loader).doText,
			"a function by its bytes: pairs of digits, blanks and `#` comments between them, or what one " +
				"pastes: `0x55, 0x48`, " +
				"`b\"\\x55\\x48\"`, `[0x55, 0x48]`, lines of `objdump -d`, gdb's `disassemble /r` or `x/16xb`, `xxd`, `hexdump -C` or `kpsim check --func`, `.byte 0x55, 72`. `size` is only checked. `extable`: offsets of instructions that have an exception-table entry"},
		{`data(name, hex = "", at = None, size = None, away = False)`, (*loader).doData,
			"writable memory: these bytes, and zeros up to `size`. `away`: it isn't in memory when a run " +
				"begins; a task that accesses it sleeps in the page fault until it is. It takes whole pages"},
		{`percpu(name, hex = "", at = None, size = None)`, (*loader).doPerCPU,
			"the same for each CPU, which finds its copy through `gs`; nothing is at the address itself. " +
				"`expect` looks at the copy of the task's CPU"},
		{`elf(file, at = None)`, (*loader).doELF,
			"all functions and data of a `.o` file: `o.f`, " +
				"`o[\"f.part.0\"]`, `o.counter`, `o[\".data\"]`. What it refers to is looked up among the functions and data above it, then among the kernel's exports: `cond_resched`, `cond_resched_tasks_rcu_qs`, `do_exit`, which ends the program that calls it, `jprobe_return`. Of a kernel module, a `.ko` file, only those functions that are named, and what they refer to; its text is patched as while a kernel loads it"},
		{`stub(name, returns = 0, fill = None, calls = None)`, (*loader).doStub,
			"a function that stands for one of the kernel's that the code below calls. `fill = (1, \"00ff\")`: " +
				"it stores these bytes where its first argument points to; then it returns the number `returns`, or " +
				"goes on in the function `calls`, or in one that the kernel exports: `calls = \"do_exit\"`"},
		{`missing(name, at, size = 4096)`, (*loader).doMissing,
			"a symbol that a module refers to and that isn't defined: `elf()` makes them. A run that calls it, " +
				"or reads there, ends in an error that names it. Whole pages"},
		{`insns(f)`, (*loader).doInsns,
			"the offsets of a function's instructions, for loops: `[0, 1, 4]`"},
	}},
	{"Probes, and what is patched", []verb{
		{`kprobe(name, at = None, offset = 0, pre = [count()], post = None, fault = None, symbol = None, disabled = False)`, (*loader).doKprobe,
			"a probe at `at + offset`, not yet registered. `pre` runs before the probed instruction, `post` " +
				"after it; each is a list of steps, `None` is none. `fault`: what runs when a handler or the " +
				"copied instruction faults (2.6, 4.15). `symbol`: the kernel is told this name, and looks it " +
				"up: instead of `at`, or, which is a mistake, beside it. `disabled`: it is registered so"},
		{`kretprobe(name, at = None, handler = [count()], entry = None, maxactive = 0, data_size = 0, symbol = None, offset = 0, disabled = False)`, (*loader).doKretprobe,
			"a return probe: `handler` runs where a call has returned, `entry` where it begins; `maxactive` " +
				"calls at a time are followed (0: the edition's default), each with `data_size` bytes of its " +
				"own for the two handlers. Without `entry` and `data_size` in 2.6"},
		{`jprobe(name, at = None, entry = None, symbol = None, offset = 0, disabled = False)`, (*loader).doJprobe,
			"a jprobe (2.6): `entry` runs first, with the arguments of the function at `at`: a function that " +
				"ends in `jprobe_return`, as `stub(\"e\", calls = \"jprobe_return\")`, or a list of steps"},
		{`jump_label(name, at, target, offset = 0, toff = 0)`, (*loader).doJumpLabel,
			"a 5-byte nop `0f1f440000` at `at + offset` that flips to a jump to `target`, or `toff` bytes after " +
				"it, and back"},
		{`module(name, funcs, init_funcs = [], data = [], init = None, exit = None, loaded = False)`,
			(*loader).doModule,
			"`funcs` are there while the module is loaded, in pages of their own (`at`); `loaded`: it is so " +
				"from the beginning; the function `init` runs when it is loaded, `exit` when it is unloaded; " +
				"`init_funcs` go when `init` has returned 0, and lie in pages of their own, too. `data` come and go " +
				"with it: each time it is loaded they hold their `hex` again; an access after the module was " +
				"unloaded is a use after free"},
		{`fentry(at)`, (*loader).doSite,
			"ftrace's site: the 5-byte nop at a function's beginning, or after its endbr64, that becomes a call " +
				"while a client of ftrace is registered for it. With `machine(ftrace = True)` a probe there goes " +
				"through it. The calls of `__fentry__` of an object are such sites by themselves, on a machine with " +
				"ftrace or a `tracer()`"},
		{`fprobe(name, funcs, entry = None, exit = None)`, (*loader).doFprobe,
			"an fprobe (5.18), not yet registered: a client of ftrace for the functions `funcs`, each with a " +
				"site. The function `entry` is called where a call of one begins, `exit` where it has " +
				"returned, both without arguments"},
		{`lock_prefix(at)`, (*loader).doLocked,
			"the instruction at `f`, or `f + 4`, begins with a lock prefix (`f0`), which alternatives remove " +
				"while one CPU is online. No jump goes over it"},
		{`alternative(at, hex)`, (*loader).doAlternative,
			"the instruction at `f`, or `f + 4`, that `apply_alternatives()` replaces by another one of the " +
				"same length, as boot does if the processor has a feature"},
		{`reserved(at, by, size = None)`, (*loader).doReserved,
			"a place that a table of the kernel names, so that kprobes refuses or restricts probes there: `by` " +
				"is `\"bug\"`, the ud2 of a BUG or WARN; `\"jump label\"` or `\"static call\"`, a site that isn't patched in this scenario, with its `size` in bytes; or `\"blacklist\"`, in a function that refuses probes. `elf()` adds those that the object's tables name"},
		{`static_call(name, sites = [], tails = [], trampoline = None, target = None)`, (*loader).doStaticCall,
			"a call whose target is patched: 5-byte nops `0f1f440000` at `sites` that become calls, and " +
				"`c3cccccccc` at `tails`, a ret that becomes a jump; with a `target` they are calls and jumps of " +
				"that already. `trampoline` is a function that is a tail of it and nothing else, for callers that " +
				"use it"},
	}},
	{"Steps of a handler", steps()},
	{"Programs", append([]verb{
		{`task(name = None, cpu = 0, ops = [], repeat = 1, background = False, setup = 0)`, (*loader).doTask,
			"a kernel thread on a CPU that does `ops`, `repeat` times; `background`: not again once all tasks " +
				"without it have ended; `setup`: the first `setup` of `ops` are done before any task begins, with a " +
				"kernel's own engine, whose state can be kept; with kpsim's engine they are the task's first"},
	}, operations()...)},
	{"Interrupts", sources()},
	{"What is expected", []verb{
		{`never(canary = None)`, (*loader).doNever,
			"no schedule breaks any property. `canary`: with this mutant some schedule must, which shows that " +
				"the search can see. This is the default"},
		{`sometimes(property)`, (*loader).doSometimes,
			"some schedule breaks the `property` of this name, or ID, `\"T2\"`; `kpsim list` has them"},
	}},
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
				c := &call{sig: v.sig, name: b.Name(), args: args, kwargs: kwargs, at: l.top()}
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
		if otherwise := c.otherwise(name); otherwise != "" {
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

// parameters lists the names that a call takes.
func (c *call) parameters() (names []string) {
	_, list, _ := strings.Cut(strings.TrimSuffix(c.sig, ")"), "(")
	for p := range strings.SplitSeq(list, ", ") {
		if name, _, _ := strings.Cut(p, " = "); name != "" && name[0] != '*' {
			names = append(names, name)
		}
	}
	return names
}

// otherwise returns a parameter's default, "" if it is required.
func (c *call) otherwise(name string) string {
	_, list, _ := strings.Cut(strings.TrimSuffix(c.sig, ")"), "(")
	for p := range strings.SplitSeq(list, ", ") {
		if word, value, _ := strings.Cut(p, " = "); word == name {
			return value
		}
	}
	return ""
}

// deed is what the call returns if it says what to do.
func (c *call) deed(op *scenario.Op, step *scenario.Step) deed {
	return deed{verb: c.name, op: op, step: step, at: c.at}
}

// once lists the functions that a program may call at most once.
var once = [...]string{"scenario", "machine", "never"}

func (l *loader) first(name string) error {
	what := name
	if name == "sometimes" {
		what = "never"
	}
	for i, o := range once {
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
	return starlark.None, l.first(c.name)
}

func (l *loader) doNever(c *call) (starlark.Value, error) {
	var e scenario.Expect
	if err := c.unpack("canary??", &e.Canary); err != nil {
		return nil, err
	}
	l.s.Expect = e
	l.position[scenario.PartOf(scenario.TheExpect, 0)] = c.at
	return starlark.None, l.first(c.name)
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
	return starlark.None, l.first(c.name)
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

// whole reads a function to call, so a place at its start.
func whole(what string, v starlark.Value) (location, error) {
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
