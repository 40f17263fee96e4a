package small

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/smp/arch"
)

// The bounds of a world, so that a state is a value.
const (
	mostProbes  = 12
	mostModules = 3
)

// logSize is the size of the log, in bytes.
const logSize = 8

// A World is a scenario whose task's operations are the letters of programs.
type World struct {
	Scenario *scenario.Scenario
	ops      []letter  // by operation
	letters  []*letter // those that programs are made of
	probes   []probe
	modules  []module
	funcs    []function
	sites    []int // of ftrace, by their function
	fprobes  []fprobe
	patches  []patch
	places   []place

	dialect *dialect
	log     arch.Addr // where functions note digits; 0: nowhere
	strict  bool      // a call that a kernel's callers must not make is no call of programs
	wait    int       // the operation that runs the optimizer; -1: there is none
	refs    bool      // probes hold their module
	hashed  bool      // the kernel is of a time when return probes' calls were hashed (until 5.10)
	jumps   []bool    // by probe: its instructions can be in a jump's region; nil: it isn't known
	settled bool      // the optimizer runs after each call that may give it work
	twins   []int     // by probe: the previous one that is interchangeable with it, -1 if there is none
}

// A letter is one call that programs may contain.
type letter struct {
	op     int // the number of the task's operation
	kind   *scenario.Operation
	do     func(s *state, l *letter, a *answer) // by the rules
	probes []int                                // of calls of the API
	fn     int                                  // the function that is called; -1: none
	module int                                  // -1: none
	// key is which label, static call, fprobe, patch, place or site of a client; for unpatch_func the function.
	key   int
	to    int // a function, and 1; 0: none
	on    bool
	stirs bool
}

// A probe is what the reference knows of one, besides its state.
type probe struct {
	name                string
	kind                scenario.ProbeKind
	fn, offset          int
	addr                arch.Addr
	pre, post, disabled bool
	runs                int // the function that its pre or post handler calls; -1: none
	runsPre             bool
	declines            bool   // its entry_handler: no call is followed
	refused             uint64 // the errno that registering it gives while its text is there
	site                bool   // ftrace calls its handlers
	letter              byte   // in kprobes/list
	plain               bool
	absent              uint64 // the errno that registering it gives while its text isn't there
	maxactive           int    // of a return probe; 0: enough
	stands              int    // bytes of whole instructions that a jump there covers
	module              int
}

type module struct {
	name   string
	fails  uint64 // the errno of its init; 0: it succeeds
	unload int    // the operation; -1: none
}

// New makes a world of a scenario. settled makes the optimizer run after each call that may give
// it work; otherwise it runs where a program asks.
func New(sc *scenario.Scenario, settled bool) (*World, error) {
	if len(sc.Tasks) != 1 || len(sc.Probes) > mostProbes || len(sc.Modules) > mostModules || len(sc.Sources) > 0 {
		return nil, fmt.Errorf("%s: a small world has one task, no sources, at most %d probes and %d modules", sc.Name,
			mostProbes, mostModules)
	}
	s := *sc
	s.Expect = scenario.Expect{}
	w := &World{Scenario: &s, wait: -1, strict: s.Machine.Engine != "",
		refs: s.Machine.ModuleRefs, settled: settled}
	w.dialect = &dialects[s.Machine.Arch]
	if w.hashed = s.Machine.Return >= era.ReturnHashed; s.Machine.Image != "" {
		if k, err := linux.Given(s.Machine.Image); err == nil {
			w.hashed = k.HashesReturns()
		}
	}
	w.addFunctions()
	if k := slices.IndexFunc(s.Datas, func(d scenario.Data) bool { return len(d.Bytes) == logSize }); k >= 0 {
		w.log = s.Datas[k].At
	}
	for i := range s.Probes {
		if err := w.addProbe(&s.Probes[i]); err != nil {
			return nil, err
		}
	}
	w.ops = make([]letter, len(s.Tasks[0].Ops))
	for i := range s.Tasks[0].Ops {
		if err := w.addLetter(i); err != nil {
			return nil, err
		}
	}
	if w.wait < 0 {
		w.settled = false
	}
	w.twins = w.findTwins()
	w.jumps = w.findJumps()
	return w, nil
}

func (w *World) addFunctions() {
	s := w.Scenario
	for i := range s.Modules {
		w.modules = append(w.modules, module{name: s.Modules[i].Name, unload: -1})
	}
	for i := range s.Texts {
		t := &s.Texts[i]
		f := function{name: t.Name, starts: starts(s.Machine.Processor(), t), module: -1, call: -1}
		for k := range s.Modules {
			m := &s.Modules[k]
			if f.init = slices.Contains(m.Init, t.Name); f.init || slices.Contains(m.Core, t.Name) {
				f.module = k
				break
			}
		}
		w.addBody(&f, t)
		w.funcs = append(w.funcs, f)
	}
	for i := range s.Sites {
		w.sites = append(w.sites, w.fn(s.Sites[i].Func))
	}
	for i := range s.Fprobes {
		p := &s.Fprobes[i]
		f := fprobe{entry: w.fn(p.Entry), exit: w.fn(p.Exit)}
		for _, name := range p.Funcs {
			f.funcs = append(f.funcs, w.fn(name))
		}
		w.fprobes = append(w.fprobes, f)
	}
	for i := range s.Modules {
		if t := s.Text(s.Modules[i].Enter); t != nil && len(t.Code) > 0 {
			if in := w.dialect.effect(t.Code); in.does == gives { // mov $-errno,%eax
				w.modules[i].fails = uint64(max(-in.v, 0))
			}
		}
	}
}

// starts returns the offsets of a function's instructions.
func starts(a *arch.Arch, t *scenario.Text) (list []int) {
	for off := 0; off < len(t.Code); {
		in, err := a.Decode(t.Code[off:], t.At+arch.Addr(off))
		if err != nil {
			break
		}
		list = append(list, off)
		off += in.Size()
	}
	return list
}

func (w *World) addProbe(sp *scenario.Probe) error {
	s := w.Scenario
	p := probe{name: sp.Name, kind: sp.Kind, offset: sp.Offset, disabled: sp.Disabled, runs: -1, module: -1,
		pre: sp.Pre != nil, post: sp.Post != nil, letter: 'k', plain: true}
	p.fn, p.maxactive = w.fn(sp.Func), sp.Maxactive
	if p.fn < 0 || sp.Symbol != "" {
		return fmt.Errorf("%s: probe %s: small worlds have probes at functions, by address", s.Name, sp.Name)
	}
	f, t := &w.funcs[p.fn], s.Text(sp.Func)
	p.addr, p.module = t.At+arch.Addr(p.offset), f.module
	traced := s.Machine.Kernel.Ftrace || s.Machine.Engine != ""
	p.site = traced && slices.Contains(s.Sites, scenario.Site{Func: sp.Func, Offset: sp.Offset})
	// Since 5.18 the place is looked up by its symbol first (_kprobe_addr); a return probe's was
	// before (kprobe_on_func_entry).
	p.absent = einval
	e, ret := s.Machine.Kernel.Edition, sp.Kind == scenario.ProbeKretprobe
	if e != rules.Edition26 && (e >= rules.Edition514 && !w.hashed || ret) {
		p.absent = enoent
	}
	switch sp.Kind {
	case scenario.ProbeJprobe:
		p.letter = 'j'
	case scenario.ProbeKretprobe:
		p.letter = 'r'
	}
	if sp.Kind != scenario.ProbeKprobe && p.offset != 0 {
		p.refused = einval
	}
	if p.refused == 0 && !slices.Contains(f.starts, p.offset) && s.Machine.Edition != rules.Edition26 {
		p.refused = w.dialect.inside
	}
	for _, h := range []struct {
		steps []scenario.Step
		pre   bool
	}{{sp.Pre, true}, {sp.Post, false}} {
		for i := range h.steps {
			st := &h.steps[i]
			if st.Kind == scenario.StepCall {
				p.runs = w.fn(st.Target)
				p.runsPre = h.pre
			} else if st.Kind == scenario.StepNonzero {
				p.declines = true
			} else if st.Kind != scenario.StepCount {
				return fmt.Errorf("%s: probe %s: handlers of small worlds count, call, and return 1", s.Name, sp.Name)
			}
		}
	}
	for _, off := range append(slices.Clone(f.starts), len(t.Code)) {
		if off >= p.offset+s.Machine.Processor().BranchLen {
			p.stands = off - p.offset
			break
		}
	}
	w.probes = append(w.probes, p)
	return nil
}

func (w *World) addLetter(i int) error {
	s := w.Scenario
	op := &s.Tasks[0].Ops[i]
	l := &w.ops[i]
	*l = letter{op: i, kind: op.Kind, fn: -1, module: -1, on: op.On, stirs: op.Kind.Traits&scenario.Stirs != 0}
	for _, r := range byTheRules {
		if r.kind == op.Kind {
			l.do = r.do
		}
	}
	switch kind := op.Kind; {
	case l.do == nil:
		return fmt.Errorf("%s: %v isn't a call of small worlds", s.Name, kind)
	case kind.Takes(scenario.TheProbes):
		for _, name := range append(slices.Clone(op.Targets), op.Target) {
			if k := w.probe(name); k >= 0 {
				l.probes = append(l.probes, k)
			}
		}
	case kind.Takes(scenario.TheModules):
		l.module = slices.IndexFunc(w.modules, func(m module) bool { return m.name == op.Target })
		if kind == act.Unload {
			w.modules[l.module].unload = i
		}
	case kind.Traits&scenario.Runs != 0:
		l.fn = w.fn(op.Target)
		f := &w.funcs[l.fn]
		if f.call = i; len(op.Args) > 0 {
			f.depth = int(op.Args[0])
		}
	case kind == act.WaitOptimized:
		if w.wait = i; w.settled {
			return nil
		}
	default:
		w.addClient(l, op)
	}
	w.letters = append(w.letters, &w.ops[i])
	return nil
}

// addClient adds what a letter says of a client other than kprobes.
func (w *World) addClient(l *letter, op *scenario.Op) {
	s := w.Scenario
	if len(op.Targets) > 0 {
		l.to = w.fn(op.Targets[0]) + 1
	}
	switch kind := op.Kind; {
	case kind.Takes(scenario.TheLabels):
		l.key = slices.IndexFunc(s.Labels, func(k scenario.Label) bool { return k.Name == op.Target })
	case kind.Takes(scenario.TheCalls):
		l.key = slices.IndexFunc(s.Calls, func(k scenario.StaticCall) bool { return k.Name == op.Target })
	case kind.Takes(scenario.TheFprobes):
		l.key = slices.IndexFunc(s.Fprobes, func(k scenario.Fprobe) bool { return k.Name == op.Target })
	case kind.Has(scenario.ParamInsn):
		l.key = number(&w.places, place{w.fn(op.Target), op.Offset})
	case kind == act.PatchFunc:
		l.key = number(&w.patches, patch{w.fn(op.Target), l.to - 1})
	case kind == act.UnpatchFunc:
		l.key = w.fn(op.Target)
	case op.Target != "":
		l.key = w.siteOf(w.fn(op.Target))
	}
}

// number returns the index of v in a list, to which it is added if it is new.
func number[T comparable](list *[]T, v T) int {
	i := slices.Index(*list, v)
	if i < 0 {
		i = len(*list)
		*list = append(*list, v)
	}
	return i
}

// fn returns a function by its name, -1 if there is none.
func (w *World) fn(name string) int {
	return slices.IndexFunc(w.funcs, func(f function) bool { return f.name == name })
}

func (w *World) probe(name string) int {
	return slices.IndexFunc(w.probes, func(p probe) bool { return p.name == name })
}

// findTwins returns for each probe the previous one from which only its name differs. Arrays name
// probes too, so a probe in one has no twin.
func (w *World) findTwins() (twins []int) {
	inArray := func(i int) bool {
		return slices.ContainsFunc(w.letters, func(l *letter) bool {
			return len(l.probes) > 1 && slices.Contains(l.probes, i)
		})
	}
	for i, p := range w.probes {
		p.name = ""
		twin := -1
		for j := range w.probes[:i] {
			q := w.probes[j]
			if q.name = ""; p == q && !inArray(i) && !inArray(j) {
				twin = j
			}
		}
		twins = append(twins, twin)
	}
	return twins
}

// findJumps returns for each probe whether the rules let a jump stand there. It is nil for a
// kernel's own engine, and if there is a probe of which they say nothing.
func (w *World) findJumps() (jumps []bool) {
	s := *w.Scenario
	if w.wait < 0 || s.Machine.Engine != "" {
		return nil
	}
	t := s.Tasks[0] // of probes in arrays the rules say nothing
	t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(op scenario.Op) bool { return len(op.Targets) > 0 })
	s.Tasks = []scenario.Task{t}
	for i, a := range s.Answers() {
		p := &w.probes[i]
		if !a.Known && p.refused == 0 && !p.site {
			return nil
		}
		jumps = append(jumps, a.Known && a.Errno == 0 && a.Jump && p.stands > 0)
	}
	return jumps
}

// unregister returns the operation that unregisters a probe.
func (w *World) unregister(i int) int {
	for _, l := range w.letters {
		if l.kind == act.Unregister && l.probes[0] == i {
			return l.op
		}
	}
	return -1
}

// says returns a letter as a scenario has it.
func (l *letter) says(w *World) string {
	op := &w.Scenario.Tasks[0].Ops[l.op]
	if l.fn >= 0 {
		return op.Target + "()"
	}
	names := slices.DeleteFunc(append([]string{op.Target}, op.Targets...), func(s string) bool { return s == "" })
	switch {
	case op.Offset > 0:
		names[0] += fmt.Sprintf(" + %d", op.Offset)
	case l.kind.Has(scenario.ParamCallee) && len(op.Targets) == 0:
		names = append(names, "None")
	case l.kind.Has(scenario.ParamOn) && l.on:
		names = append(names, "True")
	case l.kind.Has(scenario.ParamOn):
		names = append(names, "False")
	}
	return fmt.Sprintf("%v(%s)", l.kind, strings.Join(names, ", "))
}

var handlers = [...]string{kpev.Pre: "pre", kpev.Post: "post", kpev.Entry: "entry", kpev.Return: "return",
	kpev.Jump: "entry"}
