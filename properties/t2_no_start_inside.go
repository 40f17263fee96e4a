package properties

import (
	"slices"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// NoStartInside is property T2, the hazard of jump optimization (spec 4.7): a CPU is
// interrupted before the second instruction of the region, the jump is written, and the
// interrupt returns into the middle of it.
//
// Based on: Load, Image, TextStore: has a byte after the head of a patched site
// changed?
var NoStartInside = Property{
	ID:   "T2",
	Name: "no-start-inside",
	Says: "No CPU, running or returning from a frame, begins an instruction inside another instruction of patched " +
		"text, nor the second one of a branch of two without the first.",
	Kinds: []traces.Kind{
		smpev.Load, smpev.Image, smpev.TextStore, smpev.Exec, smpev.Trap, smpev.Return, smpev.ByHand, smpev.Free,
	},
	Reads:   []traces.Kind{smpev.Load, smpev.Trap, smpev.ByHand},
	New:     func(s *Scene) Monitor { return &noStartInside{scene: s} },
	Touches: insideTouches,
}

// A site is a place where images of several bytes were installed. It owns the tail of
// its last image until an image of another site takes bytes of it. In
//
//	A     A+1         A+3
//	push  mov (2)     mov (3)        linked
//	e9    ..  ..      ..  ..         a jump at A: its tail is A's
//	push  mov         cc  ..         a breakpoint at A+3: that byte is not A's
//
// a CPU may begin at A+3 in the last line, but not in the one above.
type site struct {
	addr uint64
	size uint64 // of its longest image
	own  uint16 // bit k: byte addr+k belongs to the last image declared there
}

type noStartInside struct {
	scene *Scene
	sites []site
	begun []begun `state:"set: they are looked up by the others of their fields"`

	// Whether an interrupt held the CPU inside, or the CPU was just slow:
	// the number after the event of the last store to a tail
	stored uint32 `state:"skip: says of a finding how likely it is"`
	kept   []kept `state:"skip: says of a finding how likely it is"` // one per task
}

// kept is the return address of a task's last interrupt during which a tail changed.
type kept struct {
	task uint8
	at   uint64
}

func (m *noStartInside) Reset() {
	m.sites, m.begun, m.stored, m.kept = m.sites[:0], m.begun[:0], 0, m.kept[:0]
}

func (m *noStartInside) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Exec:
		return m.exec(e)
	case smpev.Return:
		if f := m.scene.popped; f != nil && interrupt(e.A) && f.seq < m.stored {
			m.keep(e.Task, e.B)
		}
		m.sent(e)
	case smpev.TextStore:
		if m.touchesTail(e.A, e.C) {
			m.stored = e.Seq + 1
		}
		if m.scene.proc.isBreakpoint(e.B, e.C) {
			m.image(e.A, e.C, false) // a breakpoint is armed, announced or not
		}
	case smpev.Image:
		m.image(e.A, e.C>>56, !m.scene.proc.breaks(e.B))
	case smpev.Free:
		m.sites = slices.DeleteFunc(m.sites, func(s site) bool { return s.addr-e.A < e.B && !m.scene.text.has(s.addr) })
	}
	return nil
}

// interrupt reports whether a vector is an interrupt's, which may come at any
// instruction.
func interrupt(vector uint64) bool { return vector >= 32 || vector == smpev.VecNMI }

func (m *noStartInside) End(bool) *traces.Finding { return nil }

// image makes size bytes at addr that site's, and no other's. whole: they aren't a breakpoint.
func (m *noStartInside) image(addr, size uint64, whole bool) {
	at, unit := -1, m.scene.proc.unit()
	for i := range m.sites {
		s := &m.sites[i]
		if s.addr == addr {
			at = i
			continue
		}
		if addr-s.addr >= s.size && s.addr-addr >= size { // they don't overlap
			continue
		}
		for k := range s.size {
			if s.addr+k-addr < size && (size > unit || m.scene.text.starts(addr) || whole && m.scene.hand(addr)) {
				s.own &^= 1 << k
			}
		}
	}
	if at < 0 {
		if size <= unit {
			return // no instruction begins inside
		}
		at = len(m.sites)
		m.sites = append(m.sites, site{addr: addr})
	}
	s := &m.sites[at]
	s.size = max(s.size, size)
	s.own |= 1<<size - 1
}

func (m *noStartInside) exec(e *traces.Event) *traces.Finding {
	f := m.inside(e)
	if f != nil && e.Task != traces.NoTask {
		f.Slow = m.keptAt(e.Task) != e.A
	}
	return f
}

func (m *noStartInside) keep(task uint8, at uint64) {
	for i := range m.kept {
		if m.kept[i].task == task {
			m.kept[i].at = at
			return
		}
	}
	m.kept = append(m.kept, kept{task, at})
}

func (m *noStartInside) keptAt(task uint8) uint64 {
	for _, k := range m.kept {
		if k.task == task {
			return k.at
		}
	}
	return 0
}

func (m *noStartInside) inside(e *traces.Event) *traces.Finding {
	for i := range m.sites {
		s := &m.sites[i]
		if m.scene.proc.second != 0 && s.size == m.scene.proc.jumpLen() {
			switch e.A - s.addr {
			case 0:
				m.begin(e, e.B)
				continue
			case m.scene.proc.second:
				if m.odd(e, s.addr) {
					return found(e, e.A, "begins %s at %#x, the second instruction of the pair at %#x that a patcher "+
						"has written, and hasn't run the first", hex(e.B, e.C), e.A, s.addr)
				}
				continue
			}
		}
		if e.A-s.addr-1 < s.size-1 && m.tailWritten(s, e.A) {
			return found(e, e.A, "begins %s at %#x, inside the %d bytes at %#x that a patcher has written to",
				hex(e.B, e.C), e.A, s.size, s.addr)
		}
	}
	if b := m.scene.text.find(e.A); b != nil && b.start>>(e.A%blockSize)&1 == 0 && b.has(e.A) &&
		!(m.scene.hand(e.A) && m.scene.images.has(&m.scene.proc, e)) {
		return found(e, e.A, "begins %s at %#x, where no instruction was linked", hex(e.B, e.C), e.A)
	}
	return nil
}

// touchesTail reports whether n bytes at addr include a byte of a site other than its
// first.
func (m *noStartInside) touchesTail(addr, n uint64) bool {
	for i := range m.sites {
		if s := &m.sites[i]; addr < s.addr+s.size && addr+n > s.addr+1 {
			return true
		}
	}
	return false
}

// tailWritten reports whether a byte of the tail that belongs to no other site differs
// from the linked one. What the CPU fetched doesn't matter. An instruction that replaced a
// linked one before, as an alternative does, is as good as linked while all of it is there,
// or all but a breakpoint over its first byte; unless the CPU begins at, inside it.
func (m *noStartInside) tailWritten(s *site, at uint64) bool {
	for k := uint64(1); k < s.size; k++ {
		if s.own>>k&1 == 0 {
			continue
		}
		if !m.scene.text.has(s.addr + k) {
			return m.scene.hand(s.addr) // memory for code has no linked bytes
		}
		if mem, orig := m.scene.text.byteAt(s.addr + k); mem != orig && !m.replaced(s.addr, s.addr+k, at) {
			return true
		}
	}
	return false
}

// replaced reports whether the byte at addr belongs to such an instruction, which begins at from or later.
func (m *noStartInside) replaced(from, addr, at uint64) bool {
	for i := range m.scene.images[:m.scene.raw] {
		x := &m.scene.images[i]
		if x.addr < from || addr-x.addr >= x.len() || at-x.addr-1 < x.len()-1 || !m.scene.text.starts(x.addr) {
			continue
		}
		head, _ := m.scene.text.head(x.addr)
		if m.scene.text.holdsFrom(x, m.scene.proc.breakLen(head)) {
			return true
		}
	}
	return false
}

// insideTouches: an Exec is judged by the tails of the sites that it may be inside of,
// so by all stores and images less than an instruction away, and by instructions that begin in
// such a site. Frames are a task's own.
// The number of stores to tails before a trap decides whether a finding is Slow, never
// whether there is one: no touch. Nothing is left for the end.
func insideTouches(t *Touched, e *traces.Event) {
	switch e.Kind {
	case smpev.Exec:
		longest := uint64(max(t.proc.MaxLen, t.proc.BranchLen)) // of a site
		t.ReadText(e.A-longest+1, 3*longest-1)
	case smpev.TextStore:
		t.WriteText(e.A, e.C)
	case smpev.Image:
		t.WriteText(e.A, e.C>>56)
	case smpev.Free:
		t.WriteText(e.A, e.B)
	}
}
