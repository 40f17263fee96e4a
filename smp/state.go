package smp

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
)

// State tells the states of a machine apart. It hashes everything in a state except the local
// variables of routines under way, which Go hides. In their place it hashes what the
// routines have read, as an observer records it (Footprint.Doing, HasRead).
type State struct {
	m *Machine
}

// State returns what hashes the machine's state.
func (m *Machine) State() *State { return &m.state }

// Add adds the state of the machine at a boundary to a hash: everything that later steps
// depend on, except memory (Memory). It leaves out counts of questions and steps, and caches.
// It leaves out clocks, which only text that asks for the time reads (ReadsClock). It leaves
// out whether another task wants a CPU, unless a routine has ever asked.
func (s *State) Add(h *sim.Hash) {
	for i := range s.m.cpus.list {
		s.addCPU(h, &s.m.cpus.list[i])
	}
	for _, t := range s.m.tasks.all {
		s.m.addTask(h, t)
	}
	for _, src := range s.m.irqs.sources {
		h.Add(uint64(src.left)<<1 | b2u(src.armed))
	}
	for _, x := range s.m.waits.list { // waiters continue in this order
		h.Add(uint64(x.task.ID)<<8 | uint64(x.cond.Cell())<<16 | 1)
	}
	h.Add(uint64(len(s.m.waits.list))<<1 | b2u(s.m.waits.recheck))
	h.Add(uint64(s.m.mem.fault))
	for _, at := range s.m.mem.watched[s.m.mem.bootWatched:] {
		h.Join(sim.Hash{Hi: uint64(at), Lo: uint64(at)})
	}
	s.m.mem.addPages(h)
	s.m.weak.addHeld(h)
	if s.m.cfg.Memory == LKMM {
		s.m.weak.views.AddState(h)
	}
	s.m.text.model.AddState(h)
}

func (s *State) addCPU(h *sim.Hash, c *CPU) {
	m := s.m
	m.addRegs(h, &c.regs)
	if !c.sys.Same(c.boot) {
		addSystem(h, c.sys)
	}
	m.cpus.reserves.addState(h, c)
	h.Add(uint64(c.task.ID) | uint64(c.after)<<8 | uint64(c.ipi)<<16 | b2u(c.guest)<<24 | b2u(c.nmiBlocked)<<25 | b2u(c.needResched && (m.foot == nil || m.foot.asksResched))<<26 | b2u(c.urgent)<<27 | b2u(c.hot.off)<<28 | b2u(c.hot.pushes)<<29 | b2u(c.hot.lonely)<<30 | b2u(c.user)<<31 | uint64(len(c.runq))<<32)
	if r := m.text.rest(c); r != nil {
		h.Add(uint64(r.at))
		h.Add(r.v)
		h.Add(uint64(r.n))
	}
	if m.turns.spins {
		h.Add(c.owed)
		h.Add(c.beside)
		if m.weak.holds {
			h.Add(c.owedStores)
			h.Add(c.storesBeside)
		}
	}
	for _, t := range c.runq {
		h.Add(uint64(t.ID))
	}
}

func (m *Machine) addRegs(h *sim.Hash, r *arch.Regs) {
	for _, v := range r.R[:m.arch.Used&63] {
		h.Add(v)
	}
	h.Add(uint64(r.IP))
	h.Add(r.Flags)
}

func (m *Machine) addTask(h *sim.Hash, t *Task) {
	h.Add(uint64(t.state) | b2u(t.again)<<8 | b2u(t.exiting)<<9 | uint64(t.cpu.id^t.home.id)<<10 | uint64(t.preempt)<<16 | uint64(len(t.frames))<<48)
	if t.cpu.task != t && t.state != dead {
		m.addRegs(h, &t.regs)
		h.Add(t.system[0])
		h.Add(t.system[1])
	}
	for i := range t.frames {
		f := &t.frames[i]
		h.Add(uint64(f.kind) | b2u(f.trap)<<8 | b2u(f.user)<<9 | uint64(f.vector)<<16)
		switch {
		case f.kind == guest:
			h.Add(f.sp)
			continue
		case f.trap:
			h.Add(uint64(f.base))
		}
		if x := f.ctx; f.kind == routine {
			h.AddHash(x.read)
			fired := uint64(0)
			if x.source != nil {
				fired = uint64(x.source.index)
			}
			h.Add(b2u(x.cond != nil) | b2u(x.started)<<1 | b2u(x.prompt)<<2 | b2u(x.looking)<<3 | b2u(x.knowsCPU)<<4 | fired<<5)
			if f.trap {
				m.addRegs(h, &x.regs)
			}
		}
	}
}

// Memory returns a hash of text and data as they are now. The part of a task's stack below
// its stack pointer is left out: it is written before it is read, unless text reads there.
func (s *State) Memory() (sum sim.Hash) {
	for _, p := range s.m.mem.dirty {
		low := s.lowest(p.at)
		for set := p.dirty; set != 0; set &= set - 1 {
			off := bits.TrailingZeros64(set) * blockSize
			from := off
			if at := p.at + arch.Addr(off); at < low {
				if at+blockSize <= low {
					continue
				}
				from += int(low - at)
			}
			if now := p.data[from : off+blockSize]; !bytes.Equal(now, p.boot[from:off+blockSize]) {
				h := sim.Hash{Hi: uint64(p.at) + uint64(from), Lo: 1}
				for ; len(now) > 0; now = now[8:] {
					h.Add(binary.LittleEndian.Uint64(now))
				}
				sum.Join(h)
			}
		}
	}
	return sum
}

// MemoryDigest returns a digest of text and data as they are now, without the tasks' stacks,
// which differ only in leftovers. It doesn't depend on the order of earlier stores.
func (s *State) MemoryDigest() (sum uint64) {
	for _, p := range s.m.mem.dirty {
		if s.m.tasks.isStack(p.at) {
			continue
		}
		for set := p.dirty; set != 0; set &= set - 1 {
			off := bits.TrailingZeros64(set) * blockSize
			if now := p.data[off : off+blockSize]; !bytes.Equal(now, p.boot[off:off+blockSize]) {
				h := sim.Mix(uint64(p.at) + uint64(off))
				for ; len(now) > 0; now = now[8:] {
					h = sim.Mix(h ^ binary.LittleEndian.Uint64(now))
				}
				sum += h
			}
		}
	}
	return sum
}

// lowest returns the lowest address from which the bytes of a page count.
func (s *State) lowest(at arch.Addr) arch.Addr {
	m := s.m
	if !m.tasks.isStack(at) || m.footprint.readsBelow {
		return 0
	}
	t := m.tasks.stackOf(at)
	if t.state == dead && t.cpu.task != t { // nothing runs on it any more
		return t.stack
	}
	sp := s.m.tasks.pointer(t)
	if sp > t.stack || sp < t.stack-StackSize { // the stack pointer is elsewhere, and may come back
		return 0
	}
	return sp &^ 7
}

// ScrubStacks makes the return from a trap leave zeros where its frame and its
// handler's stack were. What a function finds in the bytes of its own stack that
// it hasn't written yet is then the same whatever interrupted it. A run in which
// no text reads such bytes is the same with and without.
func (s *State) ScrubStacks(on bool) { s.m.traps.scrubs = on }

// scrub clears what a trap has used of a stack, down from sp to its frame at base.
func (tr *traps) scrub(base, sp arch.Addr) {
	m := tr.m
	p := m.mem.page(base)
	off := uint64(base) % pageSize
	if p == nil || !m.tasks.isStack(base) || sp < base || off+uint64(sp-base) > pageSize {
		return
	}
	m.mem.touchSpan(p, off, uint64(sp-base))
	clear(p.data[off : off+uint64(sp-base)])
}

// ReadsClock reports whether text has ever asked for the time, which isn't part of a state.
func (s *State) ReadsClock() bool {
	for i := range s.m.cpus.list {
		if s.m.cpus.list[i].sys.ClockRead() {
			return true
		}
	}
	return false
}

// knows notes that a routine has looked at v, a value that no object stands for.
func (f *Footprint) knows(x *Ctx, v uint64) {
	if f != nil && f.began == x { // else it ends with the step
		f.before.Add(v)
		f.anew.Add(v)
	}
}

// Forget declares that the local variables of a task's body depend, from here on, only on n
// and not on anything read before.
func (x *Ctx) Forget(n uint64) {
	if f := x.m.foot; f != nil && f.began == x {
		f.forgot, f.anew, f.since = true, sim.Hash{Hi: n, Lo: ^uint64(x.task.ID)}, len(f.reads)
		f.knew = f.knew || x.knowsCPU
	}
	x.knowsCPU = false
}

// AppendRead appends what each routine under way has read, and whether its step so far has
// only looked at what it waits for. A run that isn't observed doesn't know either.
func (s *State) AppendRead(list []sim.Hash) []sim.Hash {
	for _, t := range s.m.tasks.all {
		for i := range t.frames {
			if f := &t.frames[i]; f.kind == routine {
				list = append(list, f.ctx.read, sim.Hash{Lo: b2u(f.ctx.looking)})
			}
		}
	}
	return s.m.weak.appendHeld(list)
}

// SetRead restores what AppendRead appended in a run that stood at the same place.
func (s *State) SetRead(list []sim.Hash) {
	for _, t := range s.m.tasks.all {
		for i := range t.frames {
			if f := &t.frames[i]; f.kind == routine {
				if len(list) < 2 {
					sim.Bug("a run that stands at the same place has more routines under way")
				}
				f.ctx.read, f.ctx.looking, list = list[0], list[1].Lo != 0, list[2:]
			}
		}
	}
	if list = s.m.weak.setHeld(list); len(list) != 0 {
		sim.Bug("a run that stands at the same place has %d routines less under way", len(list)/2)
	}
}

// Holds reports whether an object has a value that a routine may read. The other objects
// only order steps.
func Holds(o sim.Object) bool {
	switch uint64(o >> 56) {
	case objCell, objWord, objChunk, objService:
		return true
	}
	return false
}

// ValueOf returns an object's current value; ok is false if no number expresses all of it.
func (s *State) ValueOf(o sim.Object) (v uint64, ok bool) {
	if uint64(o>>56) == objWord {
		v, ok = s.m.mem.Load(bytesAt(uint64(o)&(1<<56-1)), 8)
	}
	return v, ok
}

// Lead identifies, with a question's First, how the run continues by default. Two values are
// equal only if the same thread of control leads, and the same CPUs' stores take effect by
// default.
func (s *State) Lead() uint64 {
	n := uint64(0)
	if s.m.turns.lead != nil {
		n = uint64(s.m.turns.lead.ID) + 1
	}
	if s.m.turns.errand != nil {
		n |= (uint64(s.m.turns.errand.id) + 1) << 9
	}
	off := uint64(0)
	for i := range s.m.weak.buffers {
		off |= b2u(s.m.weak.buffers[i].off) << i
	}
	if off != 0 {
		n ^= sim.Mix(off) << 16
	}
	return n
}
