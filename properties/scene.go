package properties

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Scene keeps the state of a run that several properties need, once for all of their
// monitors: the text, the images that patchers declared, the API calls, the open traps.
// It is made of events, as a monitor is. It handles an event before the monitors get
// it.
type Scene struct {
	proc    processor `state:"boot"`
	text    text
	images  images
	raw     int  // number of images declared at the head: of sites without probes
	head    bool // the head is over
	probes  probes
	frames  frames
	dulls   [256]dullExec `state:"skip: a memory of what can be found out"`
	handed  []span        // slots and detours that are allocated
	lately  int           `state:"skip: which of them was run in last: where to look first"`
	dying   []span        // sections of modules that are about to go: their text isn't restored
	debug   []uint64      // the addresses of breakpoints of a debugger, and of a uprobe
	hands   []span        `state:"boot"` // text that tasks of the scenario store to by themselves
	excused []excuse      // places of known findings (Monitors.Know)

	claimed *frame `state:"skip: of the event under way"` // for a Claim: its trap, or nil
	popped  *frame `state:"skip: of the event under way"` // for a Return: the trap that it ends, or nil
	called  called `state:"skip: of the event under way"` // for ApiEnter and ApiReturn
	judging Set    `state:"skip: of the event under way"` // the property whose monitor gets it, if anything is excused
}

// An excuse is a place where a property is known to be broken.
type excuse struct {
	of    Set
	place uint64
}

// excuses reports whether the monitor that judges has a known finding at addr. It looks for others then.
func (s *Scene) excuses(addr uint64) bool {
	return len(s.excused) > 0 && slices.Contains(s.excused, excuse{s.judging, addr})
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
	s.handed, s.dying, s.debug, s.excused = s.handed[:0], s.dying[:0], s.debug[:0], s.excused[:0]
	s.hands = s.hands[:0]
}

// takes has the scene's handlers, by kind. They report whether an event is irrelevant: whether it can't mean anything
// to a monitor.
var takes = map[traces.Kind]func(s *Scene, e *traces.Event) (dull bool){
	smpev.Exec:       (*Scene).exec,
	smpev.TextStore:  (*Scene).store,
	smpev.MightSleep: (*Scene).mightSleep,
	smpev.Trap:       (*Scene).trap,
	smpev.Claim:      (*Scene).claim,
	smpev.Return:     (*Scene).unwind,
	smpev.Moves:      (*Scene).moves,
	smpev.Load:       (*Scene).load,
	smpev.Image:      (*Scene).image,
	smpev.Alloc:      (*Scene).alloc,
	smpev.Free:       (*Scene).free,
	smpev.Retire:     (*Scene).retire,
	smpev.Debugger:   (*Scene).debugger,
	smpev.Uprobe:     (*Scene).uprobe,
	smpev.Form:       (*Scene).form,
	smpev.ByHand:     (*Scene).byHand,
	kpev.ApiEnter:    (*Scene).call,
	kpev.ApiReturn:   (*Scene).call,
	kpev.Kind:        (*Scene).kind,
	kpev.Enabled:     (*Scene).enabled,
	kpev.Printk:      (*Scene).printed,
}

func (s *Scene) exec(e *traces.Event) (dull bool) {
	if s.wasDull(e) {
		return true
	}
	if !s.plain(e) {
		return false
	}
	s.dulls[e.A%uint64(len(s.dulls))] = dullExec{e.A, e.B, e.C, s.text.version}
	return true
}

func (s *Scene) mightSleep(e *traces.Event) (dull bool) { return e.A == 0 }

func (s *Scene) trap(e *traces.Event) (dull bool) {
	s.frames.push(e)
	return false
}

func (s *Scene) claim(e *traces.Event) (dull bool) {
	s.claimed = s.frames.claim(e)
	return false
}

func (s *Scene) unwind(e *traces.Event) (dull bool) {
	s.popped = s.frames.pop(e)
	return false
}

func (s *Scene) moves(e *traces.Event) (dull bool) {
	s.frames.move(e)
	return false
}

func (s *Scene) load(e *traces.Event) (dull bool) {
	s.text.load(e)
	return false
}

func (s *Scene) image(e *traces.Event) (dull bool) {
	s.images.add(e)
	if !s.head {
		s.raw = len(s.images)
	}
	s.text.mark(e.A, e.C>>56)
	return false
}

func (s *Scene) form(e *traces.Event) (dull bool) {
	s.text.mark(e.A, 1)
	return false
}

func (s *Scene) byHand(e *traces.Event) (dull bool) {
	size := min(e.B, smpev.MostByHand)
	s.hands = append(s.hands, span{e.A, size, 0})
	s.text.mark(e.A, size)
	return false
}

// hand reports whether tasks of the scenario store to the byte at addr by themselves.
func (s *Scene) hand(addr uint64) bool { return len(s.hands) > 0 && in(s.hands, addr) != nil }

func (s *Scene) alloc(e *traces.Event) (dull bool) {
	s.text.forget(e.A, e.B)
	s.handed = append(s.handed, span{e.A, e.B, e.C})
	return false
}

func (s *Scene) free(e *traces.Event) (dull bool) {
	s.text.forget(e.A, e.B)
	s.takeBack(e)
	if e.C == smpev.ModuleMem {
		s.text.relink(e.A, e.B)
		take(&s.dying, span{e.A, e.B, e.C})
	}
	return false
}

func (s *Scene) retire(e *traces.Event) (dull bool) {
	if e.C == smpev.ModuleMem {
		s.probes.freed(e.A, e.B)
		s.dying = append(s.dying, span{e.A, e.B, e.C})
	}
	return false
}

func (s *Scene) debugger(e *traces.Event) (dull bool) {
	i := slices.Index(s.debug, e.A)
	switch {
	case e.B != 0 && i < 0:
		s.debug = append(s.debug, e.A)
		slices.Sort(s.debug) // a state doesn't depend on the order
	case e.B == 0 && i >= 0:
		s.debug = slices.Delete(s.debug, i, i+1)
	}
	return false
}

// uprobe takes whether a uprobe's breakpoint stands, where its text is in memory.
func (s *Scene) uprobe(e *traces.Event) (dull bool) {
	if e.B == smpev.UprobeStands || e.B == smpev.UprobeGone {
		return s.debugger(&traces.Event{A: e.A, B: smpev.UprobeGone - e.B})
	}
	return false
}

// debugs reports whether a debugger's breakpoint, or a uprobe's, stands at addr.
func (s *Scene) debugs(addr uint64) bool {
	if len(s.debug) == 0 || !slices.Contains(s.debug, addr) {
		return false
	}
	mem, _ := s.text.head(addr)
	return s.proc.breaks(mem)
}

func (s *Scene) kind(e *traces.Event) (dull bool) {
	s.probes.kinds = append(s.probes.kinds, kindOf{e.A, e.B, e.C})
	return false
}

func (s *Scene) enabled(e *traces.Event) (dull bool) {
	s.probes.enabled(e)
	return false
}

func (s *Scene) printed(e *traces.Event) (dull bool) {
	s.probes.printed(e, &s.proc, s.images[:s.raw])
	return false
}

func (s *Scene) store(e *traces.Event) (dull bool) {
	s.head = true
	b := s.text.store(e)
	if s.proc.filled(e.A, e.B, e.C) && !b.has(e.A) {
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

func (s *Scene) call(e *traces.Event) (dull bool) {
	s.head = true
	c := &s.called
	*c = called{}
	if i := s.probes.index(e.B); i >= 0 {
		c.addr, c.sure = s.probes.list[i].addr, s.probes.list[i].sure
	}
	c.place = s.probes.event(e)
	if e.Kind == kpev.ApiEnter {
		s.text.mark(s.probes.list[c.place].addr, 1)
	}
	return false
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
	return !b.text && s.isHanded(e.A) && s.text.agrees(e)
}

// isHanded reports whether addr is in a slot or a detour that is allocated.
func (s *Scene) isHanded(addr uint64) bool {
	if s.lately < len(s.handed) && s.handed[s.lately].has(addr) {
		return true
	}
	for i := range s.handed {
		if s.handed[i].has(addr) {
			s.lately = i
			return true
		}
	}
	return false
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
