package small

import (
	"cmp"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/kpev"
)

// The answers of the API and of loading, as errnos.
const (
	enoent = 2
	eagain = 11
	ebusy  = 16
	eexist = 17
	einval = 22
	eilseq = 84
)

// An object is the state of a probe, as the rules have it.
type object struct {
	registered, disabled, gone bool
	since                      uint8 // the later registered has the higher one
	missed                     uint8
	lost                       uint8 // calls for which a return probe had no instance
	calls                      uint8 // that a return probe follows
	named                      bool  // a call has named it
}

// A state is the state of a world after some calls. It is a value: a copy is a branch.
type state struct {
	w       *World
	objects [mostProbes]object
	loaded  [mostModules]bool
	clock   uint8
	noOpt   bool // optimization is switched off
	off     bool // all are disarmed
	traced  bool
	stirred bool // the optimizer may have work
	idle    int  // calls so far that changed nothing by the rules
	clients
}

// A hit is one handler that runs.
type hit struct {
	probe uint8
	which uint8
}

// An answer is what a call gives, by the rules.
type answer struct {
	errno   uint64
	answers bool // it has an errno
	changes bool // something is another than before
	hits    []hit
	gives   bool // it called a function, whose result is known
	result  uint32
	log     uint64 // what the log holds afterwards
}

func (w *World) begin() state {
	s := state{w: w}
	for i := range w.Scenario.Labels {
		s.labels[i] = w.Scenario.LabelOn(&w.Scenario.Labels[i])
	}
	for i := range w.Scenario.Modules {
		s.loaded[i] = w.Scenario.Modules[i].Loaded
	}
	return s
}

// can reports whether a program may contain a call here: a function that isn't there can't be
// called, and of interchangeable probes the first is named first. A kernel's caller must not
// unregister a return probe that isn't registered: kernels follow its null pointer
// (unregistered-twice in docs/two-engines.md).
func (s *state) can(l *letter) bool {
	if l.fn >= 0 {
		if m := s.w.funcs[l.fn].module; m >= 0 && !s.loaded[m] {
			return false
		}
	}
	if l.kind == act.SetBreakpoint && s.covered(s.w.places[l.key]) {
		return false
	}
	for _, i := range l.probes {
		ends := l.kind == act.Unregister || l.kind == act.UnregisterAll
		if s.w.strict && ends && s.w.probes[i].kind == scenario.ProbeKretprobe && !s.objects[i].registered {
			return false
		}
		if twin := s.w.twins[i]; twin >= 0 && !s.objects[i].named && !s.objects[twin].named {
			return false
		}
	}
	return true
}

// do does a call by the rules. hits are appended to the given list.
func (s *state) do(l *letter, hits []hit) (a answer) {
	for _, i := range l.probes {
		s.objects[i].named = true
	}
	a.hits = hits
	l.do(s, l, &a)
	a.log = s.log
	if a.changes && l.stirs {
		s.stirred = true
	}
	if !a.changes {
		s.idle++
	}
	return a
}

// A rule is what a call does by the rules.
type rule struct {
	kind *scenario.Operation
	do   func(s *state, l *letter, a *answer)
}

// byTheRules has a row for each call.
var byTheRules = append([]rule{
	{act.Register, register}, {act.RegisterAll, register}, {act.Unregister, unregister},
	{act.UnregisterAll, unregister}, {act.Enable, enable}, {act.Disable, disable}, {act.Load, load},
	{act.Unload, unload},
	{act.Call, call},
	{act.WaitOptimized, func(s *state, _ *letter, a *answer) { a.changes, s.stirred = s.stirred, false }},
	{act.Optimization, func(s *state, l *letter, a *answer) { a.changes, s.noOpt = s.noOpt == l.on, !l.on }},
	{act.Enabled, func(s *state, l *letter, a *answer) { a.changes, s.off = s.off == l.on, !l.on }},
	{act.Tracer, func(s *state, l *letter, a *answer) { a.changes, s.traced = s.traced != l.on, l.on }},
}, clientRules...)

// register registers probes, in turn: one that can't be takes those before it back (6.4).
func register(s *state, l *letter, a *answer) {
	was := *s
	a.answers, a.changes = true, true
	for _, i := range l.probes {
		o, p := &s.objects[i], &s.w.probes[i]
		switch f := &s.w.funcs[p.fn]; {
		case f.module >= 0 && (!s.loaded[f.module] || f.init):
			a.errno = p.absent
		case o.registered:
			a.errno = einval
		case p.refused != 0:
			a.errno = p.refused
		case p.kind == scenario.ProbeJprobe && s.jumper(p.fn):
			a.errno = eexist
		default:
			a.errno = s.broken(p.fn, p.offset)
		}
		if a.errno == 0 {
			s.clock++
			*o = object{registered: true, disabled: p.disabled, since: s.clock, named: true}
			a.errno = s.arm(p)
		}
		if a.errno != 0 {
			was.clock = s.clock
			*s, a.changes = was, false
			return
		}
	}
}

// unregister answers nothing, whatever is registered (6.5).
func unregister(s *state, l *letter, a *answer) {
	for _, i := range l.probes {
		a.changes = a.changes || s.objects[i].registered
		s.objects[i] = object{named: true}
		s.arm(&s.w.probes[i])
	}
}

func enable(s *state, l *letter, a *answer)  { s.toggle(l, a, false) }
func disable(s *state, l *letter, a *answer) { s.toggle(l, a, true) }

// toggle enables or disables a probe. One that is gone can't be enabled (6.6).
func (s *state) toggle(l *letter, a *answer, disabled bool) {
	o := &s.objects[l.probes[0]]
	a.answers = true
	if !o.registered || o.gone && !disabled {
		a.errno = einval
		return
	}
	a.changes, o.disabled = o.disabled != disabled, disabled
	if a.errno = s.arm(&s.w.probes[l.probes[0]]); a.errno != 0 {
		a.changes, o.disabled = false, true
	}
}

func load(s *state, l *letter, a *answer) {
	a.answers = true
	switch m := &s.w.modules[l.module]; {
	case s.loaded[l.module]:
		a.errno = eexist
	case m.fails != 0:
		a.errno = m.fails
	default:
		s.loaded[l.module], a.changes = true, true
	}
}

// unload unloads a module, with which probes in it go (7.1).
func unload(s *state, l *letter, a *answer) {
	a.answers = true
	if !s.loaded[l.module] {
		a.errno = enoent
		return
	}
	for i := range s.w.probes {
		if o := &s.objects[i]; s.w.probes[i].module == l.module && o.registered && !o.gone {
			if s.w.refs {
				a.errno = eagain
				return
			}
			o.gone = true
			s.arm(&s.w.probes[i])
		}
	}
	s.loaded[l.module], a.changes = false, true
}

// A line is a line of kprobes/list.
type line struct {
	addr, letter, tags uint64
}

// listTags are the tags that the reference knows.
const listTags = kpev.TagGone | kpev.TagDisabled | kpev.TagFtrace

// list appends the lines of kprobes/list, sorted (7.1).
func (s *state) list(lines []line) []line {
	for i := range s.w.probes {
		p, o := &s.w.probes[i], &s.objects[i]
		if !o.registered {
			continue
		}
		l := line{uint64(p.addr), uint64(p.letter), 0}
		switch {
		case o.gone:
			l.tags = kpev.TagGone
		case o.disabled:
			l.tags = kpev.TagDisabled
		}
		if p.site {
			l.tags |= kpev.TagFtrace
		}
		if s.jumps(i) {
			l.tags |= kpev.TagOptimized
		}
		lines = append(lines, l)
	}
	sortLines(lines)
	return lines
}

func sortLines(lines []line) {
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.letter, b.letter), cmp.Compare(a.tags, b.tags))
	})
}

// jumps reports whether a probe is hit through a jump when the optimizer has nothing left to do
// (4.4).
func (s *state) jumps(i int) bool {
	p := &s.w.probes[i]
	if s.off || s.noOpt || s.objects[i].gone || s.w.jumps == nil || !s.w.jumps[i] {
		return false
	}
	on := false
	for k := range s.w.probes {
		q, o := &s.w.probes[k], &s.objects[k]
		if q.fn != p.fn || !o.registered || o.gone {
			continue
		}
		switch {
		case q.offset == p.offset && q.post && q.kind == scenario.ProbeKprobe:
			return false
		case q.offset == p.offset:
			on = on || !o.disabled
		case q.offset > p.offset && q.offset < p.offset+p.stands && !o.disabled:
			return false
		}
	}
	return on
}
