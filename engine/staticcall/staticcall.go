package staticcall

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Site is the kind of its sites and of trampolines.
const Site kapi.SiteKind = 2

// What mutants do.
var (
	same = kapi.DefineFault("static-call-same",
		"a setter returns before it has the lock if the key has the target already, whose sites another is writing",
		"__static_call_update: if (key->func == func), with the lock held")
	unlocked = kapi.DefineFault("static-call-unlocked", "two setters of a static call rewrite its sites side by side",
		"__static_call_update: static_call_lock")
	unlisted = kapi.DefineFault("static-call-unlisted",
		"sites in a module that is loaded call what was set when the kernel was built", "static_call_add_module")
)

// Deps are the kernel services that static calls stand on.
type Deps struct {
	Boot  kapi.Boot
	Cells *kapi.Cells
	Text  kapi.Text
	Traps kapi.Traps
	CPUs  kapi.CPUs    // while a call is rewritten none comes or goes
	Patch kapi.Batcher // rewrites text if Update is given no patcher
	_     struct{}
}

// Calls are the static calls of one kernel.
type Calls struct {
	d    Deps    `state:"boot"` // set at boot
	list []*Call // set at boot
	// static_call_mutex; set at boot, nil: there is no static call
	mutex kapi.Mutex `state:"address: it is among the mutexes"`
}

// New returns a kernel's static calls: none.
func New(d Deps) *Calls {
	cs := &Calls{d: d}
	d.Boot.OnReset(cs.reset)
	d.Boot.OnSections(cs.follow)
	return cs
}

// reset restores the target that a run begins with, for each call.
func (cs *Calls) reset() {
	for _, s := range cs.list {
		s.target.Set(s.first)
		for i := range s.sites {
			s.sites[i].here = cs.d.Boot.Present(s.sites[i].at)
		}
	}
}

// All returns the calls in the order in which they were added.
func (cs *Calls) All() []*Call { return cs.list }

// A Call is an indirect call that costs none: each site is a direct call,
// or a tail call's jump, that is rewritten when the target changes
// (CONFIG_HAVE_STATIC_CALL_INLINE), and its trampoline is a jump for indirect
// callers. Both are patched site by site, with text_poke_bp if it is done as the
// kernel does it.
type Call struct {
	of     *Calls
	sites  []staticSite // set at boot: the trampoline first, if there is one
	tramp  arch.Addr    // set at boot; 0: there is no trampoline
	first  arch.Addr    // set at boot: the target a run begins with; 0: none
	target kapi.Var[arch.Addr]
	write  [1]kapi.Rewrite `state:"skip: follows from what its maker has read"` // owned by static_call_mutex
	// owned by static_call_mutex: the instruction being written
	insn arch.Code `state:"skip: follows from what its maker has read"`
}

// A staticSite is one place that calls.
type staticSite struct {
	at   arch.Addr // set at boot
	tail bool      // set at boot: it is a jump, the last instruction of its function
	here bool      // owned by static_call_mutex: the text is there
}

// A CallSite is a place for Add.
type CallSite struct {
	At   arch.Addr
	Tail bool // a jump, where the function ends with the call
}

// Add makes a static call, at boot. Its text agrees with target: calls and jumps to target, or nops and rets if
// target is 0. trampoline is a jump to target, or a ret; 0: there is none.
func (cs *Calls) Add(trampoline, target arch.Addr, sites ...CallSite) *Call {
	s := &Call{of: cs, tramp: trampoline, first: target}
	if len(cs.list) == 0 {
		cs.mutex = cs.d.Boot.BootMutex("static_call_mutex")
	}
	s.target.Init(cs.d.Cells, target)
	if trampoline != 0 {
		sites = slices.Insert(slices.Clone(sites), 0, CallSite{trampoline, true})
	}
	for _, c := range sites {
		s.sites = append(s.sites, staticSite{c.At, c.Tail, cs.d.Boot.Present(c.At)})
		cs.d.Boot.AddSite(kapi.Site{Addr: c.At, Size: cs.d.Text.Arch().BranchLen, Kind: Site})
	}
	cs.list = append(cs.list, s)
	return s
}

// Target returns the function that is called when a run begins, and the trampoline; either is 0 if there is none.
func (s *Call) Target() (first, trampoline arch.Addr) { return s.first, s.tramp }

// Sites calls f with each place that calls, but the trampoline.
func (s *Call) Sites(f func(c CallSite)) {
	for _, c := range s.sites {
		if c.at == s.tramp {
			continue
		}
		f(CallSite{At: c.at, Tail: c.tail})
	}
}

// Images calls f with each instruction that may stand in the text for a target.
func (s *Call) Images(target arch.Addr, f func(at arch.Addr, insn arch.Code)) {
	for _, c := range s.sites {
		insn, _ := s.image(c.at, target, c.tail)
		f(c.at, insn)
	}
}

// image is the instruction at a place for a target. ok is false if the target is out of reach.
func (s *Call) image(at, target arch.Addr, tail bool) (insn arch.Code, ok bool) {
	a := s.of.d.Text.Arch()
	switch {
	case target == 0 && tail:
		return a.BranchRet, true
	case target == 0:
		return a.BranchNop, true
	case tail:
		return a.Jump(at, target)
	}
	return a.Call(at, target)
}

// Reaches reports whether all of the call's text can call target.
func (s *Call) Reaches(target arch.Addr) bool {
	ok := true
	for _, c := range s.sites {
		_, in := s.image(c.at, target, c.tail)
		ok = ok && in
	}
	return ok
}

// Update sets the target (__static_call_update); 0 is nothing. A CPU may be in the old target when it returns. The
// text is written by the patcher p, or Deps.Patch if nil: a CPU that hits its breakpoint executes the new instruction.
//
//	step 1: the key's target
//	step 2: the trampoline and the sites, one by one, where their text is there
//
// Context: may sleep; takes cpu_hotplug_lock, static_call_mutex, text_mutex.
func (s *Call) Update(x kapi.Context, target arch.Addr, p kapi.Patcher) {
	if s.of.d.Boot.Planted(same) && s.target.ReadOnce(x) == target {
		return
	}
	s.of.lock(x)
	s.target.WriteOnce(x, target) // key->func = func, under the lock: the sites are text
	for i := range s.sites {
		if s.sites[i].here {
			s.transform(x, &s.sites[i], target, p)
		}
	}
	s.of.unlock(x)
}

// lock keeps CPUs from coming and going, and other tasks from changing a static call; unlock undoes it.
func (cs *Calls) lock(x kapi.Context) {
	cs.d.CPUs.ReadLock(x)
	if !cs.d.Boot.Planted(unlocked) {
		cs.mutex.Lock(x)
	}
}

func (cs *Calls) unlock(x kapi.Context) {
	if !cs.d.Boot.Planted(unlocked) {
		cs.mutex.Unlock(x)
	}
	cs.d.CPUs.ReadUnlock(x)
}

// follow is called when a module's section has been loaded or is about to be unloaded: its sites then call what the
// key has been set to (static_call_add_module), and no setter writes to text that goes (static_call_del_module).
// Context: may sleep; takes cpu_hotplug_lock, static_call_mutex, text_mutex.
func (cs *Calls) follow(x kapi.Context, in kapi.Section, here bool) {
	for _, s := range cs.list {
		for i := range s.sites {
			c := &s.sites[i]
			if !in.Has(c.at) {
				continue
			}
			cs.lock(x)
			if c.here = here; here && !cs.d.Boot.Planted(unlisted) {
				s.transform(x, c, s.target.ReadOnce(x), nil)
			}
			cs.unlock(x)
		}
	}
}

// transform rewrites one place, unless it is as it should be
// (arch_static_call_transform, __static_call_transform).
func (s *Call) transform(x kapi.Context, c *staticSite, target arch.Addr, p kapi.Patcher) {
	at := c.at
	insn, _ := s.image(at, target, c.tail)
	now := insn
	s.of.d.Text.Mutex().Lock(x)
	s.of.d.Text.Read(x, at, now.Bytes())
	s.of.d.Boot.Shares(x, at, len(now.Bytes()), Site, false)
	switch {
	case s.of.d.Boot.Foreign(at, len(now.Bytes())) && !s.of.valid(now, c.tail):
		s.of.d.Traps.Bug(x, "unexpected static_call insn opcode")
	case now != insn:
		s.insn = insn
		if p != nil {
			p.Patch(x, at, s.insn.Bytes(), 0) // it writes no breakpoint that a CPU could hit
		} else {
			s.write[0] = kapi.Rewrite{At: at, Insn: s.insn.Bytes()}
			s.of.d.Patch.Batch(x, s.write[:])
		}
		s.of.d.Boot.Shares(x, at, len(s.insn.Bytes()), Site, true)
	}
	s.of.d.Text.Mutex().Unlock(x)
}

// valid reports whether a static call may have written what stands at a place (__static_call_validate). Only the opcode
// of a branch is looked at, so a call or a jump of another patcher is written over.
func (cs *Calls) valid(now arch.Code, tail bool) bool {
	a := cs.d.Text.Arch()
	w := arch.Word(now.Bytes())
	if tail {
		return a.IsJump.Match(w) || byte(w) == a.BranchRet.Bytes()[0]
	}
	return a.IsCall.Match(w) || now == a.BranchNop
}
