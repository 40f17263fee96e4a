package properties

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Scene is what several properties want to know of a run, followed once for
// all of their monitors: the text, the images that patchers declared, the API
// calls, the open traps. It is made of events, as a monitor is. When a monitor
// is told of an event, the scene has taken it.
type Scene struct {
	text   text
	images images
	raw    int  // the first images, declared at the head: of sites that are no probe's
	head   bool // the head is over
	probes probes
	frames frames
	dulls  [256]dullExec
	handed []span // slots and detours that are handed out
	dying  []span // sections of modules that are about to go: what is in their text isn't put back

	claimed *frame // of a Claim: the trap it is about, nil if there is none
	popped  *frame // of a Return: the trap that it ends, nil if there is none
	called  called // of ApiEnter and ApiReturn
}

// called is what an API call was about.
type called struct {
	place int    // of the probe in the list; -1: a return without a call
	addr  uint64 // of the probe before the event
	sure  bool   // and whether it was enabled for certain
}

func (s *Scene) reset() {
	s.text.reset()
	s.images, s.raw, s.head = s.images[:0], 0, false
	s.probes.reset()
	s.frames.reset()
	s.handed, s.dying = s.handed[:0], s.dying[:0]
}

// take takes an event, and reports whether it is dull: whether it can't mean
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
		// Poison: the memory is being taken back, and that a CPU is still
		// in it is for no-use-after-free to say.
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

// Most of what happens is dull. An instruction that was linked where it runs, as
// it was linked, at an address that nobody patches and no probe is put on, is
// none that properties are about. Nor is one in a slot or a detour that is handed
// out, if it is what was stored there; nor is the store, once the text has taken
// it; nor that a routine may sleep where it may. So a text marks what Images and
// API calls name, and dull are:
//
//	Exec        its first byte not marked: the linked instruction; or outside
//	            linked text, in memory that is handed out and is known to hold it
//	TextStore   to a block without a linked byte and without a mark
//	MightSleep  where it may
//
// It is for TestTogether, and harness's TestDull, to say that nothing is lost by it.

// A dullExec is an Exec that was dull, and is as long as the text is of that version.
type dullExec struct {
	addr, lo, hi uint64
	version      uint64
}

// wasDull reports whether an Exec is known to be dull.
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

// plain reports whether an Exec is dull.
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

// agrees reports whether the bytes of an Exec are those of memory, as far as they
// are known.
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
