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
	eexist = 17
	einval = 22
	eilseq = 84
)

// An object is the state of a probe, as the rules have it.
type object struct {
	registered, disabled, gone bool
	since                      uint8 // the later registered has the higher one
	missed                     uint8
	named                      bool // a call has named it
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
}

func (w *World) begin() state {
	s := state{w: w}
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
	for _, i := range l.probes {
		if s.w.strict && l.kind == act.Unregister && s.w.probes[i].kind == scenario.ProbeKretprobe &&
			!s.objects[i].registered {
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
	if a.changes && l.stirs {
		s.stirred = true
	}
	if !a.changes {
		s.idle++
	}
	return a
}

// byTheRules has what each call does by the rules.
var byTheRules = []struct {
	kind *scenario.Operation
	do   func(s *state, l *letter, a *answer)
}{
	{act.Register, register}, {act.RegisterAll, register}, {act.Unregister, unregister},
	{act.UnregisterAll, unregister}, {act.Enable, enable}, {act.Disable, disable}, {act.Load, load},
	{act.Unload, unload},
	{act.Call, func(s *state, l *letter, a *answer) { a.hits = s.call(l.fn, a.hits, false) }},
	{act.WaitOptimized, func(s *state, _ *letter, a *answer) { a.changes, s.stirred = s.stirred, false }},
	{act.Optimization, func(s *state, l *letter, a *answer) { a.changes, s.noOpt = s.noOpt == l.on, !l.on }},
	{act.Enabled, func(s *state, l *letter, a *answer) { a.changes, s.off = s.off == l.on, !l.on }},
	{act.Tracer, func(s *state, l *letter, a *answer) { a.changes, s.traced = s.traced != l.on, l.on }},
}

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
		default:
			a.errno = p.refused
		}
		if a.errno != 0 {
			was.clock = s.clock
			*s, a.changes = was, false
			return
		}
		s.clock++
		*o = object{registered: true, disabled: p.disabled, since: s.clock, named: true}
	}
}

// unregister answers nothing, whatever is registered (6.5).
func unregister(s *state, l *letter, a *answer) {
	for _, i := range l.probes {
		a.changes = a.changes || s.objects[i].registered
		s.objects[i] = object{named: true}
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
		}
	}
	s.loaded[l.module], a.changes = false, true
}

// at returns the live probes at a place, the last registered first (1.8).
func (s *state) at(fn, offset int) (list []int) {
	for i := range s.w.probes {
		p, o := &s.w.probes[i], &s.objects[i]
		if p.fn == fn && p.offset == offset && o.registered && !o.gone {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Compare(s.objects[b].since, s.objects[a].since) })
	return list
}

// call appends the handlers that a call of a function runs. In a handler none do, and hits are
// missed instead (1.11).
func (s *state) call(fn int, hits []hit, inHandler bool) []hit {
	if s.off {
		return hits
	}
	var back []int // return probes of this call
	for _, offset := range s.w.funcs[fn].starts {
		list := s.at(fn, offset)
		if !slices.ContainsFunc(list, func(i int) bool { return !s.objects[i].disabled }) {
			continue
		}
		if inHandler {
			for _, i := range list {
				s.objects[i].missed++
			}
			continue
		}
		for _, i := range list {
			p := &s.w.probes[i]
			switch {
			case s.objects[i].disabled:
			case p.kind == scenario.ProbeKretprobe:
				if back = append(back, i); p.pre {
					hits = append(hits, hit{uint8(i), kpev.Entry})
				}
			case p.pre:
				hits = append(hits, hit{uint8(i), kpev.Pre})
				if p.runs >= 0 && p.runsPre {
					hits = s.call(p.runs, hits, true)
				}
			}
		}
		for _, i := range list {
			p := &s.w.probes[i]
			if !s.objects[i].disabled && p.kind == scenario.ProbeKprobe && p.post {
				hits = append(hits, hit{uint8(i), kpev.Post})
				if p.runs >= 0 && !p.runsPre {
					hits = s.call(p.runs, hits, true)
				}
			}
		}
	}
	for k := len(back) - 1; k >= 0; k-- {
		hits = append(hits, hit{uint8(back[k]), kpev.Return})
	}
	return hits
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
		if p.site && !o.gone {
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
