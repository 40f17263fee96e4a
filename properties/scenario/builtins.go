package scenario

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/smp/isa"
)

const defaultCPUs = 2

// verb is one builtin of the language: its signature is what a message about
// a wrong call ends with.
type verb struct {
	sig string
	do  func(*loader, *call) (starlark.Value, error)
}

func (v verb) name() string {
	name, _, _ := strings.Cut(v.sig, "(")
	return name
}

// language is the whole of it. LANGUAGE.md says the same at more length.
var language = []verb{
	{`scenario(name = None, says = "", needs = "nothing")`, (*loader).doScenario},
	{machineSig(), (*loader).doMachine},

	{`text(name, hex, at = None, size = None, extable = [])`, (*loader).doText},
	{`data(name, hex = "", at = None, size = None, away = False)`, (*loader).doData},
	{`percpu(name, hex = "", at = None, size = None)`, (*loader).doPerCPU},
	{`elf(file, at = None)`, (*loader).doELF},
	{`stub(name, returns = 0, fill = None, calls = None)`, (*loader).doStub},
	{`missing(name, at, size = 4096)`, (*loader).doMissing},
	{`insns(f)`, (*loader).doInsns},

	{`kprobe(name, at = None, offset = 0, pre = [count()], post = None, fault = None, symbol = None, disabled = False)`, (*loader).doKprobe},
	{`kretprobe(name, at = None, handler = [count()], entry = None, maxactive = 0, data_size = 0, symbol = None, offset = 0, disabled = False)`, (*loader).doKretprobe},
	{`jprobe(name, at = None, entry = None, symbol = None, offset = 0, disabled = False)`, (*loader).doJprobe},
	{`jump_label(name, at, target, offset = 0, toff = 0)`, (*loader).doJumpLabel},
	{`module(name, funcs, init_funcs = [], data = [], init = None, exit = None, loaded = False)`, (*loader).doModule},
	{`fentry(at)`, (*loader).doSite},
	{`lock_prefix(at)`, (*loader).doLocked},
	{`static_call(name, sites = [], tails = [], trampoline = None, target = None)`, (*loader).doStaticCall},
	{`count()`, (*loader).doCount},
	{`set_reg(reg, value)`, (*loader).doSetReg},
	{`set_ip(address)`, (*loader).doSetIP},
	{`nonzero()`, plainStep(StepNonzero)},
	{`store(d, value)`, (*loader).doStore},
	{`save(reg)`, onReg(StepSave)},
	{`restore(reg)`, onReg(StepRestore)},
	{`sleep()`, plainStep(StepSleep)},

	{`task(name = None, cpu = 0, ops = [], repeat = 1, background = False)`, (*loader).doTask},
	{`call(f, *args, changed = False, returns = None, bits = 64)`, (*loader).doCall},
	{`expect(d, hex)`, (*loader).doExpect},
	{`schedule()`, plain(OpSchedule)},
	{`register(k, errno = None)`, onProbe(OpRegister)},
	{`unregister(k, errno = None)`, onProbe(OpUnregister)},
	{`enable(k, errno = None)`, onProbe(OpEnable)},
	{`disable(k, errno = None)`, onProbe(OpDisable)},
	{`register_all(ks, errno = None)`, onProbes(OpRegisterAll)},
	{`unregister_all(ks, errno = None)`, onProbes(OpUnregisterAll)},
	{`wait_optimized()`, plain(OpWaitOptimized)},
	{`optimization(on)`, onOff(OpOptimization)},
	{`enabled(on)`, onOff(OpEnabled)},
	{`label_on(l)`, onLabel(OpEnableLabel)},
	{`label_off(l)`, onLabel(OpDisableLabel)},
	{`insmod(m, errno = None)`, onModule(OpLoad)},
	{`rmmod(m, errno = None)`, onModule(OpUnload)},
	{`tracer(on)`, onOff(OpTracer)},
	{`set_call(s, f)`, (*loader).doSetCall},
	{`smp_locks(on)`, onOff(OpLocks)},
	{`user()`, plain(OpUser)},
	{`hotplug()`, plain(OpHotplug)},
	{`spin()`, plain(OpSpin)},
	{`release()`, plain(OpRelease)},

	{`timer(cpu, at_most = 1, run = None, opens = False, idle = False)`, source(SourceTimer)},
	{`nmi(cpu, at_most = 1, run = None, idle = False)`, source(SourceNMI)},
	{`preempt(cpu, at_most = 1)`, source(SourcePreempt)},

	{`never(canary = None)`, (*loader).doNever},
	{`sometimes(property)`, (*loader).doSometimes},
}

// verbs lists the names of the language.
func verbs() []string {
	names := make([]string, len(language))
	for i, v := range language {
		names[i] = v.name()
	}
	return names
}

func (l *loader) builtins() starlark.StringDict {
	d := starlark.StringDict{
		guard:   starlark.NewBuiltin(guard, makeFactor),
		"range": starlark.NewBuiltin("range", boundRange),
	}
	for _, v := range language {
		do := v.do
		d[v.name()] = starlark.NewBuiltin(v.name(),
			func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				c := &call{sig: v.sig, name: b.Name(), args: args, kwargs: kwargs, at: l.top()}
				if t.CallStackDepth() > 1 {
					c.at = l.callee(t.CallFrame(1).Pos, b.Name())
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

// unpack is starlark.UnpackArgs, and a wrong call is shown a right one.
func (c *call) unpack(pairs ...any) error {
	if err := starlark.UnpackArgs(c.name, c.args, c.kwargs, pairs...); err != nil {
		return fmt.Errorf("%v; write %s", err, c.sig)
	}
	return nil
}

// deed is what the call returns if it says what to do.
func (c *call) deed(op *Op, step *Step) deed {
	return deed{verb: c.name, op: op, step: step, at: c.at}
}

// once lists what a program says at most once.
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
	needs := needsWords[0]
	err := c.unpack("name??", &l.s.Name, "says?", &l.s.Says, "needs?", &needs)
	if err != nil {
		return nil, err
	}
	if l.s.Needs, err = lookup[Needs]("needs", needs, needsWords); err != nil {
		return nil, err
	}
	l.position[part{theScenario, 0, -1}] = c.at
	return starlark.None, l.first(c.name)
}

func (l *loader) doNever(c *call) (starlark.Value, error) {
	var e Expect
	if err := c.unpack("canary??", &e.Canary); err != nil {
		return nil, err
	}
	l.s.Expect = e
	l.position[part{theExpect, 0, -1}] = c.at
	return starlark.None, l.first(c.name)
}

func (l *loader) doSometimes(c *call) (starlark.Value, error) {
	e := Expect{Sometimes: true}
	if err := c.unpack("property", &e.Property); err != nil {
		return nil, err
	}
	l.s.Expect = e
	l.position[part{theExpect, 0, -1}] = c.at
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
func address(v starlark.Value, otherwise isa.Addr) (isa.Addr, error) {
	if v == nil {
		return otherwise, nil
	}
	n, err := number("at", v)
	return isa.Addr(n), err
}

// function reads a location in a function.
func function(what string, v starlark.Value) (location, error) {
	if p, ok := v.(location); ok && p.what == "function" {
		return p, nil
	}
	return location{}, fmt.Errorf("%s is %s; give a function, as text() or elf() returns it", what, describe(v))
}

// whole reads a function that is to be called, so at its start.
func whole(what string, v starlark.Value) (location, error) {
	p, err := function(what, v)
	if err == nil && p.off != 0 {
		err = fmt.Errorf("%s is %s; a function is called at its start", what, p)
	}
	return p, err
}
