package small

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// An engineRun is an engine on which programs are run one after the other, and what the current
// program must give.
type engineRun struct {
	w   *World
	rig *rig.Ordered

	order []int // the operations: the program's, and those that follow it
	wants []answer
	calls int   // the operations of the program
	left  state // by the rules, after these

	hits    []hit // of the current operation
	lines   []line
	want    []line
	differs difference
}

// A difference is the first one of a program.
type difference struct {
	what     string // "" if there is none
	at       int    // the position in the order
	says     string
	property bool // what is a broken one
}

// like reports whether two engines differ alike. The words of a broken property have lines and
// offsets, which a change moves.
func (d difference) like(e difference) bool {
	return d == e || d.property && e.property && d.what == e.what && d.at == e.at
}

func newEngine(w *World, mutant string, ignored properties.Set) (*engineRun, error) {
	e := &engineRun{w: w}
	var err error
	if e.rig, err = rig.NewOrdered(w.Scenario, mutant, e.after); err != nil {
		return nil, err
	}
	e.rig.LeaveAnswers()
	e.rig.Judges.GoOnAfter(rig.GoOn{Ignored: ignored})
	e.rig.See(func(h engine.Hit) { e.hits = append(e.hits, hit{uint8(h.Probe), uint8(h.Which)}) })
	return e, nil
}

func (e *engineRun) close() { e.rig.Close() }

// A runner runs the programs of one job.
type runner struct {
	*tree
	engine   *engineRun
	base     *engineRun // nil: there is none
	ran      uint64
	before   uint64 // programs that differ on base alike
	differ   uint64
	finds    []*Find
	failures []string
}

// take runs the current program, if it doesn't continue one that differs.
func (t *runner) take() {
	if t.continues() {
		t.beyond++
		return
	}
	t.ran++
	e := t.engine
	d := e.take(t.tree)
	if d.what == "" {
		return
	}
	if d.at < e.calls { // what shows only afterwards isn't in the way of further calls
		t.failures = append(t.failures, key(t.program))
	}
	if t.base != nil && d.like(t.base.take(t.tree)) {
		t.before++
		return
	}
	t.differ++
	f := &Find{What: d.what, After: e.where(d.at), Says: d.says, Programs: 1, differs: d,
		program: slices.Clone(t.program)}
	n := len(t.finds)
	if t.finds = counted(t.finds, f); len(t.finds) == n {
		return
	}
	for _, op := range t.program {
		f.Calls = append(f.Calls, t.w.ops[op].says(t.w))
	}
	f.Scenario, f.Serial = e.witness(d.at, true), e.witness(len(e.order), false)
}

// take runs a tree's program and returns how it differs.
func (e *engineRun) take(t *tree) difference {
	e.prepare(t)
	run := e.rig.Do(new(sched.Default), e.order)
	if run.Outcome == smp.Passed || run.Outcome == smp.Violated && run.Property == nil { // what is ignored
		return e.differs
	}
	d := difference{what: "run", says: fmt.Sprintf("%v: %s", run.Outcome, e.rig.Message(&run))}
	begun, _ := e.rig.Operations(0)
	d.at = max(begun-1, 0)
	if run.Property != nil {
		d.what, d.property = run.Property.Name, true
	}
	if run.Err != nil {
		d.says += " " + run.Err.Error()
	}
	if e.differs.what != "" {
		d.says = e.differs.says + "; " + d.says
	}
	return d
}

// where says in words in which call something differs.
func (e *engineRun) where(at int) string {
	at = min(at, len(e.order)-1)
	l := &e.w.ops[e.order[at]]
	if at >= e.calls {
		return "afterwards, " + l.kind.Word
	}
	return l.kind.Word
}

// prepare makes the order of operations for a tree's program, and what each must give.
func (e *engineRun) prepare(t *tree) {
	e.order, e.wants, e.hits, e.differs = e.order[:0], e.wants[:0], e.hits[:0], difference{}
	stirred := t.states[len(t.program)].stirred && !e.w.settled
	for i, op := range t.program {
		e.order, e.wants = append(e.order, op), append(e.wants, t.answers[i])
		if e.w.settled && t.answers[i].changes && e.w.ops[op].stirs {
			e.order, e.wants = append(e.order, e.w.wait), append(e.wants, answer{})
		}
	}
	e.calls, e.left = len(e.order), t.states[len(t.program)]
	e.left.stirred = stirred
	s := e.left
	e.callAll(&s)
	if e.w.wait >= 0 && !e.w.settled {
		e.then(&s, e.w.wait)
		e.callAll(&s)
	}
	for n := s.clock; n > 0; n-- {
		for i := range e.w.probes {
			if o := &s.objects[i]; o.registered && o.since == n {
				e.then(&s, e.w.unregister(i))
			}
		}
	}
	if e.w.wait >= 0 {
		e.then(&s, e.w.wait)
	}
	for i := range e.w.modules {
		if s.loaded[i] && e.w.modules[i].unload >= 0 {
			e.then(&s, e.w.modules[i].unload)
		}
	}
	if e.w.wait >= 0 {
		e.then(&s, e.w.wait)
	}
}

// then adds an operation that follows the program.
func (e *engineRun) then(s *state, op int) {
	if op < 0 {
		return
	}
	n := len(e.wants)
	var hits []hit
	if n < cap(e.wants) {
		hits = e.wants[:n+1][n].hits[:0]
	}
	if n < e.calls { // its list belongs to a tree
		hits = nil
	}
	e.order, e.wants = append(e.order, op), append(e.wants, s.do(&e.w.ops[op], hits))
}

func (e *engineRun) callAll(s *state) {
	for i := range e.w.funcs {
		f := &e.w.funcs[i]
		if f.call >= 0 && (f.module < 0 || s.loaded[f.module]) {
			e.then(s, f.call)
		}
	}
}

func (e *engineRun) differ(what string, n int, format string, args ...any) {
	e.differs = difference{what: what, at: n, says: fmt.Sprintf(format, args...)}
}

// after compares what an operation gave with what it must give.
func (e *engineRun) after(n int, errno uint64) {
	want := &e.wants[n]
	switch l := &e.w.ops[e.order[n]]; {
	case e.differs.what != "":
	case want.answers && errno != want.errno:
		e.differ("answer", n, "%s answers %d, by the rules %d", l.says(e.w), errno, want.errno)
	case !slices.Equal(e.hits, want.hits):
		e.differ("handlers", n, "%s runs %s, by the rules %s", l.says(e.w), e.run(e.hits), e.run(want.hits))
	case want.gives && uint32(e.rig.Result()) != want.result:
		e.differ("result", n, "%s gives %d, by the rules %d", l.says(e.w), uint32(e.rig.Result()), want.result)
	case e.w.log != 0 && e.log() != want.log:
		e.differ("order", n, "after %s functions have noted %x, by the rules %x", l.says(e.w), e.log(), want.log)
	}
	e.hits = e.hits[:0]
	if n == e.calls-1 && e.differs.what == "" {
		e.look(n)
	}
}

// log returns what functions have noted.
func (e *engineRun) log() uint64 {
	v, _ := e.rig.Machine.Memory().Load(e.w.log, logSize)
	return v
}

// run says which handlers run.
func (e *engineRun) run(hits []hit) string {
	if len(hits) == 0 {
		return "no handler"
	}
	var s []string
	for _, h := range hits {
		s = append(s, e.w.probes[h.probe].name+" "+handlers[h.which])
	}
	return strings.Join(s, ", ")
}

// look compares the state after the program: of each probe, and kprobes/list.
func (e *engineRun) look(n int) {
	for i := range e.w.probes {
		o, is := &e.left.objects[i], e.rig.Engine().Status(i)
		differs := func(what string, got, want any) {
			e.differ("state", n, "%s: %s %v, by the rules %v", e.w.probes[i].name, what, got, want)
		}
		switch {
		case is.Registered != o.registered:
			differs("registered", is.Registered, o.registered)
		case o.registered && !o.gone && is.Disabled != o.disabled:
			differs("disabled", is.Disabled, o.disabled)
		case o.registered && is.Missed != int(o.missed):
			differs("missed hits", is.Missed, o.missed)
		case o.registered && e.w.probes[i].maxactive > 0 && is.NoInstance != int(o.lost):
			differs("calls without an instance", is.NoInstance, o.lost)
		default:
			continue
		}
		return
	}
	_, own, _ := e.rig.Engine().Own()
	trampoline := e.rig.Engine().Trampoline() // a kernel's own probe may be there
	e.lines = e.lines[:0]
	e.rig.Engine().Claim(func(k traces.Kind, addr, letter, tags uint64) {
		if k == kpev.Listed && letter != 0 && arch.Addr(addr) != own && arch.Addr(addr) != trampoline {
			e.lines = append(e.lines, line{addr, letter, tags})
		}
	})
	known := uint64(listTags)
	if e.w.jumps != nil && !e.left.stirred {
		known |= kpev.TagOptimized
	}
	for i := range e.lines {
		if e.lines[i].tags&kpev.TagNone != 0 {
			known = 0
		}
	}
	e.want = e.left.list(e.want[:0])
	for i := range e.want {
		e.want[i].tags &= known
	}
	for i := range e.lines {
		e.lines[i].tags &= known
	}
	if sortLines(e.lines); !slices.Equal(e.lines, e.want) {
		e.differ("list", n, "kprobes/list has %s, by the rules %s", e.listed(e.lines), e.listed(e.want))
	}
}

func (e *engineRun) listed(lines []line) string {
	if len(lines) == 0 {
		return "no line"
	}
	var all []string
	for _, l := range lines {
		s := fmt.Sprintf("%c", l.letter)
		for i := range e.w.probes {
			if p := &e.w.probes[i]; uint64(p.addr) == l.addr {
				s += fmt.Sprintf(" %s+%#x", e.w.funcs[p.fn].name, p.offset)
				break
			}
		}
		for _, t := range []struct {
			tag  uint64
			text string
		}{{kpev.TagGone, " [GONE]"}, {kpev.TagDisabled, " [DISABLED]"}, {kpev.TagOptimized, " [OPTIMIZED]"},
			{kpev.TagFtrace, " [FTRACE]"}} {
			if l.tags&t.tag != 0 {
				s += t.text
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// witness returns a scenario of the current program, up to where it differs, with or without what
// calls answer by the rules.
func (e *engineRun) witness(at int, answers bool) *scenario.Scenario {
	s := *e.w.Scenario
	t := s.Tasks[0]
	ops := t.Ops
	t.Ops = nil
	for n, i := range e.order {
		if n > max(at, e.calls-1) {
			break
		}
		op := ops[i]
		if want := &e.wants[n]; answers && want.answers && op.Kind.Has(scenario.ParamErrno) {
			op.Checked, op.Returns = true, want.errno
		}
		t.Ops = append(t.Ops, op)
	}
	s.Tasks = []scenario.Task{t}
	used := func(name string) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
			return op.Target == name || slices.Contains(op.Targets, name)
		})
	}
	s.Probes = slices.DeleteFunc(slices.Clone(s.Probes), func(p scenario.Probe) bool { return !used(p.Name) })
	return &s
}
