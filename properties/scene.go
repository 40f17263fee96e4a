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
}

// take takes an event, and reports whether it is dull: whether it can't mean
// anything to a monitor.
func (s *Scene) take(e *traces.Event) (dull bool) {
	switch e.Kind {
	case smpev.Exec:
		return s.text.plain(e)
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
	case smpev.Alloc, smpev.Free:
		s.text.forget(e.A, e.B)
	case kpev.ApiEnter, kpev.ApiReturn:
		s.head = true
		s.call(e)
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
// none that properties are about. Nor is a store to a slot or a detour, once the
// text has taken it, nor that a routine may sleep where it may. So a text marks
// what Images and API calls name, and dull are:
//
//	Exec        the linked instruction, its first byte not marked
//	TextStore   to a block without a linked byte and without a mark
//	MightSleep  where it may
//
// It is for TestTogether to say that nothing is lost by that.

// mark marks n bytes at addr.
func (t *text) mark(addr, n uint64) {
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
func (t *text) plain(e *traces.Event) bool {
	b := t.find(e.A)
	if b == nil || (b.start&^b.marks)>>(e.A%blockSize)&1 == 0 {
		return false
	}
	x := &t.loads.insns[b.which[e.A%blockSize]]
	return x.lo == e.B && x.hi == e.C
}
