package small

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
)

// mostKeys is how many labels, static calls, fprobes, live patches, breakpoints and sites of ftrace
// a world may have, of each.
const mostKeys = 4

// clients is the state of the other patchers of text.
type clients struct {
	labels    [mostKeys]bool
	targets   [mostKeys]uint8 // of static calls: the function and 1; 0: none
	fprobes   [mostKeys]uint8 // the later registered has the higher one; 0: it isn't registered
	patches   [mostKeys]uint8 // likewise
	directs   [mostKeys]uint8 // by site: the function that it calls, and 1; 0: none
	breaks    [mostKeys]bool
	armed     [mostKeys]mode // by site: how ftrace calls the probes there
	livepatch bool           // the client of livepatch() is attached
	lives     [mostKeys]bool // by site: it has been given to that client, by a livepatch(True) when it was there
	applied   bool           // alternatives are
	locks     bool           // lock prefixes are left out
	log       uint64         // what functions have noted, the last in the lowest digit
}

// A mode is how ftrace calls the probes at a site: as a client that may change the path if one
// with a post_handler was there when they were armed (8.4).
type mode uint8

const (
	disarmed mode = iota
	keepsPath
	changesPath
)

// An fprobe is what the reference knows of one, besides its state.
type fprobe struct {
	funcs       []int
	entry, exit int // functions; -1: none
}

// A patch is a live patch of one function.
type patch struct{ fn, to int }

// A place is where a debugger sets breakpoints.
type place struct{ fn, offset int }

// clientRules are the rows of byTheRules for other patchers of text.
var clientRules = []rule{
	{act.EnableLabel, func(s *state, l *letter, a *answer) { a.changes, s.labels[l.key] = !s.labels[l.key], true }},
	{act.DisableLabel, func(s *state, l *letter, a *answer) { a.changes, s.labels[l.key] = s.labels[l.key], false }},
	{act.SetCall, func(s *state, l *letter, a *answer) {
		a.changes, s.targets[l.key] = s.targets[l.key] != uint8(l.to), uint8(l.to)
	}},
	{act.Locks, func(s *state, l *letter, a *answer) { a.changes, s.locks = s.locks == l.on, !l.on }},
	{act.Alternatives, func(s *state, _ *letter, a *answer) { a.changes, s.applied = !s.applied, true }},
	{act.Livepatch, livepatch},
	{act.PatchFunc, patchFunc}, {act.UnpatchFunc, unpatchFunc},
	{act.RegisterDirect, registerDirect}, {act.ModifyDirect, modifyDirect}, {act.UnregisterDirect, unregisterDirect},
	{act.RegisterFprobe, registerFprobe}, {act.UnregisterFprobe, unregisterFprobe},
	{act.SetBreakpoint, setBreakpoint}, {act.ClearBreakpoint, clearBreakpoint},
}

// call calls a function.
func call(s *state, l *letter, a *answer) {
	k := walk{s: s, hits: a.hits, depth: s.w.funcs[l.fn].depth}
	k.call(l.fn)
	a.hits, a.gives, a.result = k.hits, k.known, uint32(k.result)
}

// claimed reports whether a client that may change where calls continue has a site. A direct call
// was one in the kernels of edition 5.14.
func (s *state) claimed(site int) bool {
	return s.livepatch && s.lives[site] || s.armed[site] == changesPath || s.version(s.w.sites[site]) >= 0 ||
		s.directs[site] > 0 && s.w.Scenario.Machine.Edition == rules.Edition514
}

// livepatch attaches a client to all sites that are there, or to none if one is claimed. Those that it has are
// its own from then on.
func livepatch(s *state, l *letter, a *answer) {
	if !l.on {
		a.changes, s.livepatch = s.livepatch, false
		return
	}
	for i, fn := range s.w.sites {
		if m := s.w.funcs[fn].module; !s.lives[i] && (m < 0 || s.loaded[m]) && !(s.livepatch && s.claimed(i)) {
			s.lives[i], a.changes = true, true
		}
	}
	for i := range s.w.sites {
		if s.lives[i] && !s.livepatch && s.claimed(i) {
			return
		}
	}
	a.changes, s.livepatch = a.changes || !s.livepatch, true
}

// version returns the function in which calls of a patched function continue, -1 if it isn't
// patched: the newest version.
func (s *state) version(fn int) int {
	to, since := -1, uint8(0)
	for i, p := range s.w.patches {
		if p.fn == fn && s.patches[i] > since {
			to, since = p.to, s.patches[i]
		}
	}
	return to
}

// patchFunc enables a live patch over those of the same function.
func patchFunc(s *state, l *letter, a *answer) {
	a.answers = true
	switch p := s.w.patches[l.key]; {
	case s.patches[l.key] > 0:
		a.errno = einval
	case s.version(p.fn) < 0 && s.claimed(s.w.siteOf(p.fn)):
		a.errno = ebusy
	default:
		s.clock++
		s.patches[l.key], a.changes = s.clock, true
	}
}

// unpatchFunc removes the newest live patch of a function.
func unpatchFunc(s *state, l *letter, a *answer) {
	a.answers = true
	newest := s.version(l.key)
	if newest < 0 {
		a.errno = einval
		return
	}
	s.patches[slices.Index(s.w.patches, patch{l.key, newest})], a.changes = 0, true
}

func registerDirect(s *state, l *letter, a *answer) {
	a.answers = true
	if s.directs[l.key] > 0 || s.w.Scenario.Machine.Edition == rules.Edition514 && s.claimed(l.key) {
		a.errno = ebusy
		return
	}
	s.directs[l.key], a.changes = uint8(l.to), true
}

func modifyDirect(s *state, l *letter, a *answer)     { s.redirect(l, a, uint8(l.to)) }
func unregisterDirect(s *state, l *letter, a *answer) { s.redirect(l, a, 0) }

// redirect changes a direct call that there is.
func (s *state) redirect(l *letter, a *answer, to uint8) {
	a.answers = true
	if s.directs[l.key] == 0 {
		a.errno = einval
		return
	}
	a.changes, s.directs[l.key] = s.directs[l.key] != to, to
}

func registerFprobe(s *state, l *letter, a *answer) {
	a.answers = true
	if s.fprobes[l.key] > 0 {
		a.errno = ebusy
		return
	}
	s.clock++
	s.fprobes[l.key], a.changes = s.clock, true
}

func unregisterFprobe(s *state, l *letter, a *answer) {
	a.answers = true
	if s.fprobes[l.key] == 0 {
		a.errno = einval
		return
	}
	s.fprobes[l.key], a.changes = 0, true
}

// fprobes runs the entry handlers of the fprobes of a function, the last registered first. exits
// gets those with an exit handler, which runs when the call returns: that of the last listed first.
func (k *walk) fprobes(fn int, exits *most) (n int) {
	newest := ^uint8(0)
	for {
		next, since := -1, uint8(0)
		for i := range k.s.w.fprobes {
			at := k.s.fprobes[i]
			if at > since && at < newest && slices.Contains(k.s.w.fprobes[i].funcs, fn) {
				next, since = i, at
			}
		}
		if next < 0 {
			return n
		}
		p := &k.s.w.fprobes[next]
		if newest = since; p.entry >= 0 {
			k.aside(p.entry)
		}
		if p.exit >= 0 {
			exits[n] = uint8(next)
			n++
		}
	}
}

func setBreakpoint(s *state, l *letter, a *answer) {
	if a.answers = true; s.breaks[l.key] {
		a.errno = eexist
		return
	}
	s.breaks[l.key], a.changes = true, true
}

func clearBreakpoint(s *state, l *letter, a *answer) {
	if a.answers = true; !s.breaks[l.key] {
		a.errno = enoent
		return
	}
	s.breaks[l.key], a.changes = false, true
}

// broken returns the errno for a probe where a debugger's breakpoint stands at or before its place in
// the function, 0 if none does: it isn't known where instructions begin. Until 6.5 the instruction
// was refused if it was itself a breakpoint.
func (s *state) broken(fn, offset int) (errno uint64) {
	for i, p := range s.w.places {
		switch {
		case !s.breaks[i] || p.fn != fn || p.offset > offset:
		case p.offset < offset || s.w.Scenario.Machine.Kernel.Edition >= rules.Edition69:
			return eilseq
		default:
			errno = einval
		}
	}
	return errno
}

// covered reports whether a debugger's breakpoint would be set into a registered probe's
// instructions, which it would save: no debugger may do that.
func (s *state) covered(p place) bool {
	for i := range s.w.probes {
		q := &s.w.probes[i]
		if s.objects[i].registered && q.fn == p.fn && p.offset >= q.offset && p.offset < q.offset+max(q.stands, 1) {
			return true
		}
	}
	return false
}

// jumper reports whether a jprobe is registered at a function.
func (s *state) jumper(fn int) bool {
	for i := range s.w.probes {
		if p := &s.w.probes[i]; p.kind == scenario.ProbeJprobe && p.fn == fn && s.objects[i].registered {
			return true
		}
	}
	return false
}

// arm makes ftrace call the probes at the site of p, or stops it, after one of them has changed. A
// site that another client has claimed isn't given to probes that may change the path.
func (s *state) arm(p *probe) (errno uint64) {
	if !p.site {
		return 0
	}
	site := s.w.siteOf(p.fn)
	on, to := false, keepsPath
	for i := range s.w.probes {
		q, o := &s.w.probes[i], &s.objects[i]
		if q.fn != p.fn || q.offset != p.offset || !o.registered || o.gone {
			continue
		}
		if on = on || !o.disabled; q.post && q.kind == scenario.ProbeKprobe {
			to = changesPath
		}
	}
	switch {
	case !on:
		s.armed[site] = disarmed
	case s.armed[site] != disarmed:
	case to == changesPath && s.claimed(site):
		return ebusy
	default:
		s.armed[site] = to
	}
	return 0
}

// siteOf returns the site of ftrace of a function.
func (w *World) siteOf(fn int) int { return slices.Index(w.sites, fn) }
