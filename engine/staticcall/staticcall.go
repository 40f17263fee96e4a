package staticcall

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Site is the kind of its sites and of trampolines.
const Site kapi.SiteKind = 2

// Deps are the kernel services that static calls stand on.
type Deps struct {
	Boot  kapi.Boot
	Cells *kapi.Cells
	Text  kapi.Text
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
	return cs
}

// reset restores the target that a run begins with, for each call.
func (cs *Calls) reset() {
	for _, s := range cs.list {
		s.target.Set(s.first)
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
	tramp  arch.Addr    // set at boot; 0: there is no trampoline
	sites  []staticSite // set at boot
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
	for _, c := range sites {
		s.sites = append(s.sites, staticSite{c.At, c.Tail})
		cs.d.Boot.AddSite(kapi.Site{Addr: c.At, Size: cs.d.Text.Arch().BranchLen, Kind: Site})
	}
	if trampoline != 0 {
		cs.d.Boot.AddSite(kapi.Site{Addr: trampoline, Size: cs.d.Text.Arch().BranchLen, Kind: Site})
	}
	cs.list = append(cs.list, s)
	return s
}

// Target returns the function that is called when a run begins, and the trampoline; either is 0 if there is none.
func (s *Call) Target() (first, trampoline arch.Addr) { return s.first, s.tramp }

// Sites calls f with each place that calls.
func (s *Call) Sites(f func(c CallSite)) {
	for _, c := range s.sites {
		f(CallSite{At: c.at, Tail: c.tail})
	}
}

// Images calls f with each instruction that may stand in the text for a target.
func (s *Call) Images(target arch.Addr, f func(at arch.Addr, insn arch.Code)) {
	if s.tramp != 0 {
		insn, _ := s.image(s.tramp, target, true)
		f(s.tramp, insn)
	}
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
	if s.tramp != 0 {
		_, in := s.image(s.tramp, target, true)
		ok = ok && in
	}
	return ok
}

// Update sets the target; 0 is nothing. A CPU may be in the old target when it returns. The text is written by the
// patcher p, or Deps.Patch if nil: a CPU that hits its breakpoint executes the new instruction. Context: may sleep;
// takes cpu_hotplug_lock, static_call_mutex, text_mutex.
func (s *Call) Update(x kapi.Context, target arch.Addr, p kapi.Patcher) {
	s.of.d.CPUs.ReadLock(x)
	s.of.mutex.Lock(x)
	s.target.WriteOnce(x, target) // key->func = func, under the lock: the sites are text
	if s.tramp != 0 {
		s.transform(x, s.tramp, target, true, p)
	}
	for _, c := range s.sites {
		s.transform(x, c.at, target, c.tail, p)
	}
	s.of.mutex.Unlock(x)
	s.of.d.CPUs.ReadUnlock(x)
}

// transform rewrites one place, unless it is as it should be
// (__static_call_transform).
func (s *Call) transform(x kapi.Context, at, target arch.Addr, tail bool, p kapi.Patcher) {
	insn, _ := s.image(at, target, tail)
	now := insn
	s.of.d.Text.Mutex().Lock(x)
	if s.of.d.Text.Read(x, at, now.Bytes()); now != insn {
		s.insn = insn
		if p != nil {
			p.Patch(x, at, s.insn.Bytes(), 0) // it writes no breakpoint that a CPU could hit
		} else {
			s.write[0] = kapi.Rewrite{At: at, Insn: s.insn.Bytes()}
			s.of.d.Patch.Batch(x, s.write[:])
		}
	}
	s.of.d.Text.Mutex().Unlock(x)
}
