package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// settings follows what callers have set the keys of text patchers to: a jump label, a static call, the lock
// prefixes, the alternatives, a debugger's breakpoint. A key behaves as a register: each call that sets it takes
// effect at one moment between its beginning and its return. What a key may be set to is known from that alone: the
// last call, or one of several that overlap; and once no call is under way the text of the sites says which.
//
// A site at which a probe is, or was, isn't judged: the probe saves the bytes there and writes them back.
type settings struct {
	scene    *Scene
	forms    []form  `state:"boot"`
	sites    []place `state:"boot"`
	sections []span  `state:"boot"` // of modules; what is the module's number

	last    []setter `state:"set: values are looked up"` // calls that have returned, of which any may be the last
	flights []setter `state:"set: values are looked up"` // calls that are under way
	moving  []mover  `state:"set: values are looked up"` // calls that load or unload a module
	shared  []sharer `state:"set: values are looked up"` // probes that are, or were, on a site

	setting setting `state:"skip: of the head"` // whose forms follow
	sort    uint64  `state:"skip: of the head"` // of its key
}

// A setting is a value of a key.
type setting struct{ key, value uint64 }

// A form is how an instruction begins while a key has a value.
type form struct {
	setting
	insn
}

// A place is a site of a key.
type place struct{ addr, len, key, sort uint64 }

// A sharer is a probe on a site: of a task that is registering it, or NoTask once it has been registered.
type sharer struct {
	probe uint64
	task  uint8
}

// A mover is a call that loads or unloads a module, or is refused because another one does.
type mover struct {
	module uint64
	task   uint8
}

// A setter is a call that sets a key. What doesn't matter later isn't kept, so that fewer states differ.
type setter struct {
	setting
	task  uint8   // of one under way
	cpu   uint8   // where it returned, if only that CPU is made to see what is written (local)
	newer tasks   // with a call for the key that is under way and began after this one returned
	could [2]bool // of a breakpoint's, under way: whether it may have been off, or on, since the call began
}

// settingKinds are the kinds of event that it needs.
var settingKinds = []traces.Kind{
	smpev.Setting, smpev.Form, smpev.Sets, smpev.Module, smpev.Asked, kpev.ApiEnter, kpev.ApiReturn,
	smpev.Load, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.Retire,
}

// settingReads are those whose effect it reads from the scene.
var settingReads = []traces.Kind{smpev.Load, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.Retire}

func (s *settings) Reset() {
	s.forms, s.sites, s.sections = s.forms[:0], s.sites[:0], s.sections[:0]
	s.last, s.flights, s.moving, s.shared = s.last[:0], s.flights[:0], s.moving[:0], s.shared[:0]
	s.setting, s.sort = setting{}, 0
}

// follow handles an event. ended: no call that sets the key is under way any more.
func (s *settings) follow(e *traces.Event) (ended bool) {
	switch e.Kind {
	case smpev.Setting:
		s.setting, s.sort = setting{e.A, e.B}, e.C&smpev.SettingSort
		if e.C&smpev.SettingFirst != 0 {
			s.settle(s.setting, s.sort, e.CPU)
		}
	case smpev.Form:
		s.forms = append(s.forms, form{s.setting, insn{e.A, e.B, e.C}})
		if s.siteAt(e.A) == nil {
			s.sites = append(s.sites, place{e.A, e.C >> 56, s.setting.key, s.sort})
		}
	case smpev.Sets:
		if e.C&smpev.SetsEnds == 0 {
			s.begin(e)
			return false
		}
		s.end(e)
		return !s.busy(e.A)
	case smpev.Module:
		s.sections = append(s.sections, span{e.A, e.B, e.C})
	case smpev.Asked:
		call := mover{e.A, e.Task}
		if s.moving = slices.DeleteFunc(s.moving, func(m mover) bool { return m == call }); e.B&smpev.AskedEnds == 0 {
			s.moving = append(s.moving, call)
		}
	case kpev.ApiEnter:
		if e.A == kpev.Register && s.near(e.C) {
			s.shared = append(s.shared, sharer{e.B, e.Task})
		}
	case kpev.ApiReturn:
		i := slices.Index(s.shared, sharer{e.B, e.Task})
		if e.A != kpev.Register || i < 0 {
			break
		}
		s.shared = slices.Delete(s.shared, i, i+1)
		if was := (sharer{e.B, traces.NoTask}); e.C == 0 && !slices.Contains(s.shared, was) {
			s.shared = append(s.shared, was)
		}
	}
	return false
}

// begin handles the beginning of a call: it is newer than those that have returned.
func (s *settings) begin(e *traces.Event) {
	now := setter{setting: setting{e.A, e.B}, task: e.Task}
	answered := s.sortOf(e.A) == smpev.SettingBreakpoint
	for i := range s.last {
		if c := &s.last[i]; c.key == e.A {
			c.newer.add(uint64(e.Task))
			now.could[min(c.value, 1)] = answered
		}
	}
	for i := range s.flights {
		if f := &s.flights[i]; f.key == e.A && answered {
			f.could[min(e.B, 1)] = true
			now.could[min(f.value, 1)] = true
		}
	}
	s.flights = append(s.flights, now)
}

// end handles the return of a call: it is later than those that returned before it began. One that was refused has
// changed nothing.
func (s *settings) end(e *traces.Event) {
	s.flights = slices.DeleteFunc(s.flights, func(f setter) bool { return f.key == e.A && f.task == e.Task })
	refused, sort := e.C>>smpev.SetsErrno != 0, s.sortOf(e.A)
	s.last = slices.DeleteFunc(s.last, func(c setter) bool {
		// A call that finds the key as it asks writes nothing, so its CPU sees nothing new.
		same := local(sort) && c.value == e.B
		return !refused && !same && c.key == e.A && c.newer.has(uint64(e.Task))
	})
	for i := range s.last {
		s.last[i].newer.del(uint64(e.Task))
	}
	if !refused {
		s.settle(setting{e.A, e.B}, sort, e.CPU)
	}
}

// settle adds a call that has returned. It replaces equal ones, since no call under way is known to be newer than it.
func (s *settings) settle(to setting, sort uint64, cpu uint8) {
	now := setter{setting: to}
	if local(sort) {
		now.cpu = cpu
	}
	s.last = slices.DeleteFunc(s.last, func(c setter) bool { return c.setting == to && c.cpu == now.cpu })
	s.last = append(s.last, now)
}

// local reports whether a setter of such keys makes only the CPU that it runs on see what it wrote (text_poke_early).
func local(sort uint64) bool { return sort == smpev.SettingLocks || sort == smpev.SettingAlternatives }

// sortOf returns the sort of a key that has a site.
func (s *settings) sortOf(key uint64) uint64 {
	for i := range s.sites {
		if s.sites[i].key == key {
			return s.sites[i].sort
		}
	}
	return 0
}

// busy reports whether a call that sets a key is under way.
func (s *settings) busy(key uint64) bool {
	return slices.ContainsFunc(s.flights, func(f setter) bool { return f.key == key })
}

// may reports whether a key may have a value.
func (s *settings) may(key, value uint64) bool {
	is := func(c setter) bool { return c.key == key && c.value == value }
	return slices.ContainsFunc(s.last, is) || slices.ContainsFunc(s.flights, is)
}

// siteAt returns the site at an address, or nil.
func (s *settings) siteAt(addr uint64) *place {
	for i := range s.sites {
		if s.sites[i].addr == addr {
			return &s.sites[i]
		}
	}
	return nil
}

// near reports whether a probe at addr, or its jump, may write bytes of a site.
func (s *settings) near(addr uint64) bool {
	return slices.ContainsFunc(s.sites, func(p place) bool { return s.overlaps(addr, &p) })
}

// overlaps reports whether a jump at addr has bytes of a site.
func (s *settings) overlaps(addr uint64, p *place) bool {
	return addr < p.addr+p.len && p.addr < addr+s.scene.proc.jumpLen()
}

// judged reports whether a site can be judged: its text is there, not coming or going with its module, and no probe
// writes there.
func (s *settings) judged(p *place) bool {
	for _, by := range s.shared {
		if i := s.scene.probes.index(by.probe); i < 0 || s.overlaps(s.scene.probes.list[i].addr, p) {
			return false
		}
	}
	m := in(s.sections, p.addr)
	return m == nil || in(s.scene.dying, p.addr) == nil && in(s.scene.handed, p.addr) != nil &&
		!slices.ContainsFunc(s.moving, func(c mover) bool { return c.module == m.what })
}

// agrees reports whether the text of all sites of a key that can be judged is that of a value; else odd is one where
// it isn't.
func (s *settings) agrees(key, value uint64) (odd *place) {
	for i := range s.forms {
		f := &s.forms[i]
		if f.setting != (setting{key, value}) || s.scene.text.holds(&f.insn) {
			continue
		}
		if p := s.siteAt(f.addr); s.judged(p) {
			return p
		}
	}
	return nil
}

// rest reads what a key is set to from the text, when no call for it is under way. odd is a site that disagrees with
// the others, or with every call that may be the last; nil: none does.
func (s *settings) rest(key uint64) (odd *place) {
	held := slices.ContainsFunc(s.sites, func(p place) bool { return p.key == key && s.judged(&p) })
	if !held || s.busy(key) {
		return nil
	}
	found := false
	for _, c := range s.last {
		if c.key != key {
			continue
		}
		p := s.agrees(key, c.value)
		if p == nil {
			found = true
		} else if odd == nil {
			odd = p
		}
	}
	if !found {
		return odd
	}
	s.last = slices.DeleteFunc(s.last, func(c setter) bool { return c.key == key && s.agrees(key, c.value) != nil })
	return nil
}

// sortNames are the sorts of keys.
var sortNames = [...]string{smpev.SettingLabel: "the jump label", smpev.SettingCall: "the static call",
	smpev.SettingLocks: "the lock prefix", smpev.SettingAlternatives: "the alternative",
	smpev.SettingBreakpoint: "the debugger's breakpoint"}

// String names the site's patcher.
func (p *place) String() string {
	if p.sort < uint64(len(sortNames)) {
		return sortNames[p.sort]
	}
	return "the site"
}

// settingTouches says what an event touches: what the keys are set to is one object, which a setter writes and an
// instruction at a site reads; a setter that begins doesn't read text, so that it may move across stores. The end of
// the run reads the text and what is under way, whatever the order before.
func settingTouches(t *Touched, e *traces.Event) {
	const keys = 1 << 43
	switch e.Kind {
	case smpev.Exec:
		if t.onSite(e.A, 1) {
			t.Read(keys)
		}
	case smpev.TextStore:
		if t.onSite(e.A, e.C) {
			t.WriteText(e.A, e.C)
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		if e.A == kpev.Register && (e.B >= uint64(len(t.Addrs)) || t.onSite(t.Addrs[e.B], t.proc.jumpLen())) {
			t.Write(keys)
		}
	case smpev.Alloc, smpev.Free, smpev.Retire:
		if e.C == smpev.ModuleMem && len(t.Sites) > 0 {
			t.Write(keys)
		}
	case smpev.Sets, smpev.Asked:
		if len(t.Sites) == 0 {
			return
		}
		t.Write(keys)
		if e.Kind == smpev.Sets && e.C&smpev.SetsEnds == 0 {
			return
		}
		for _, s := range t.Sites {
			t.ReadText(s[0], s[1]-s[0])
		}
	}
}
