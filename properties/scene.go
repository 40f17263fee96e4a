package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Scene keeps the state of a run that several properties need, once for all of their
// monitors: the text, the images that patchers declared, the API calls, the open traps.
// It is made of events, as a monitor is. It handles an event before the monitors get
// it.
type Scene struct {
	text   text
	images images
	raw    int  // number of images declared at the head: of sites without probes
	head   bool // the head is over
	probes probes
	frames frames
	dulls  [256]dullExec `state:"skip: a memory of what can be found out"`
	handed []span        // slots and detours that are allocated
	dying  []span        // sections of modules that are about to go: their text isn't restored

	claimed *frame `state:"skip: of the event under way"` // of a Claim: its trap, or nil
	popped  *frame `state:"skip: of the event under way"` // of a Return: the trap that it ends, or nil
	called  called `state:"skip: of the event under way"` // of ApiEnter and ApiReturn
}

// called is the subject of an API call.
type called struct {
	place int    // index of the probe in the list; -1: a return without a call
	addr  uint64 // of the probe before the event
	sure  bool   // and whether it was certainly enabled
}

func (s *Scene) reset() {
	s.text.reset()
	s.images, s.raw, s.head = s.images[:0], 0, false
	s.probes.reset()
	s.frames.reset()
	s.handed, s.dying = s.handed[:0], s.dying[:0]
}

// take handles an event, and reports whether it is irrelevant: whether it can't mean
// anything to a monitor.
func (s *Scene) take(e *traces.Event) (dull bool) {
	switch e.Kind {
	case smpev.Exec:
		if !s.plain(e) {
			return false
		}
		s.dulls[e.A%uint64(len(s.dulls))] = dullExec{e.A, e.B, e.C, s.text.version}
		return true
	case smpev.TextStore:
		s.head = true
		return s.store(e)
	case smpev.Trap:
		s.frames.push(e)
	case smpev.Claim:
		s.claimed = s.frames.claim(e)
	case smpev.Return:
		s.popped = s.frames.pop(e)
	case smpev.Load:
		s.text.load(e)
	case smpev.Image:
		s.images.add(e)
		if !s.head {
			s.raw = len(s.images)
		}
		s.text.mark(e.A, e.C>>56)
	case smpev.Alloc:
		s.text.forget(e.A, e.B)
		s.handed = append(s.handed, span{e.A, e.B, e.C})
	case smpev.Free:
		s.text.forget(e.A, e.B)
		s.takeBack(e)
		if e.C == smpev.ModuleMem {
			s.text.relink(e.A, e.B)
			take(&s.dying, span{e.A, e.B, e.C})
		}
	case smpev.Retire:
		if e.C == smpev.ModuleMem {
			s.probes.freed(e.A, e.B)
			s.dying = append(s.dying, span{e.A, e.B, e.C})
		}
	case kpev.ApiEnter, kpev.ApiReturn:
		s.head = true
		s.call(e)
	case kpev.Kind:
		s.probes.kinds = append(s.probes.kinds, kindOf{e.A, e.B, e.C})
	case kpev.Enabled:
		s.probes.enabled(e)
	case kpev.Printk:
		s.probes.printed(e)
	case smpev.MightSleep:
		return e.A == 0
	}
	return false
}

func (s *Scene) store(e *traces.Event) (dull bool) {
	b := s.text.store(e)
	if e.C > 1 && e.B == 0xcccccccccccccccc&mask(e.C) && !b.has(e.A) {
		// Poison: the memory is being freed. no-use-after-free reports a CPU that is
		// still in it.
		s.text.forget(e.A, e.C)
	}
	return !b.text && b.marks == 0
}

func (s *Scene) takeBack(e *traces.Event) {
	for i := range s.handed {
		if x := &s.handed[i]; x.addr == e.A && x.size == e.B {
			s.handed = append(s.handed[:i], s.handed[i+1:]...)
			return
		}
	}
}

func (s *Scene) call(e *traces.Event) {
	c := &s.called
	*c = called{}
	if i := s.probes.index(e.B); i >= 0 {
		c.addr, c.sure = s.probes.list[i].addr, s.probes.list[i].sure
	}
	c.place = s.probes.event(e)
	if e.Kind == kpev.ApiEnter {
		s.text.mark(s.probes.list[c.place].addr, 1)
	}
}

// Most events are irrelevant. No property is about a linked instruction that runs
// unchanged at an address that isn't patched or probed. Nor is one about an instruction
// in allocated slots or detours that is what was stored there; nor about that store,
// once the text has recorded it; nor about a routine that may sleep where it may. So a
// text marks the addresses that Images and API calls name, and these are irrelevant:
//
//	Exec        its first byte not marked: the linked instruction; or outside
//	            linked text, in allocated memory that is known to hold it
//	TextStore   to a block without a linked byte and without a mark
//	MightSleep  where it may
//
// TestTogether, and TestDull of the search, check that nothing is lost by this.

// A dullExec is an Exec that was irrelevant. It stays so while the text has that
// version.
type dullExec struct {
	addr, lo, hi uint64
	version      uint64
}

// wasDull reports whether an Exec is known to be irrelevant.
func (s *Scene) wasDull(e *traces.Event) bool {
	d := &s.dulls[e.A%uint64(len(s.dulls))]
	return d.addr == e.A && d.version == s.text.version && d.lo == e.B && d.hi == e.C
}

// mark marks n bytes at addr.
func (t *text) mark(addr, n uint64) {
	t.version++
	for range n {
		b := t.find(addr)
		if b == nil {
			b = t.grow(addr)
		}
		b.marks |= 1 << (addr % blockSize)
		addr++
	}
}

// plain reports whether an Exec is irrelevant.
func (s *Scene) plain(e *traces.Event) bool {
	b, i := s.text.find(e.A), e.A%blockSize
	if b == nil || b.marks>>i&1 != 0 {
		return false
	}
	if b.start>>i&1 != 0 {
		x := &s.text.loads.insns[b.which[i]]
		return x.lo == e.B && x.hi == e.C
	}
	return !b.text && in(s.handed, e.A) != nil && s.text.agrees(e)
}

// agrees reports whether the bytes of an Exec equal those of memory, as far as they are
// known.
func (t *text) agrees(e *traces.Event) bool {
	n := e.C >> 56
	mem, known := t.word(e.A)
	if (mem^e.B)&known&mask(n) != 0 {
		return false
	}
	if n <= 8 {
		return true
	}
	mem, known = t.word(e.A + 8)
	return (mem^e.C)&known&mask(n-8) == 0
}
