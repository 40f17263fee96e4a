package smp

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// For whoever tells the states of a machine apart: what a state is made of, but
// for the local variables of routines under way. In their place stands what the
// routines have read, as an observer takes it down (Doing, HasRead).

// AddState adds the state of the machine, as it is at a boundary, to a hash: all
// that what comes after depends on but memory (MemoryState). Left out are counts
// of questions and steps, clocks, which nothing but text that asks for the time
// reads (ReadsClock), and what is remembered of what can be found out.
func (m *Machine) AddState(h *sim.Hash) {
	for i := range m.cpus {
		m.addCPU(h, &m.cpus[i])
	}
	for _, t := range m.tasks {
		t.addState(h)
	}
	for _, s := range m.sources {
		h.Add(uint64(s.left)<<1 | b2u(s.armed))
	}
	for _, x := range m.waiters { // in this order they are let go on
		h.Add(uint64(x.task.ID)<<8 | uint64(x.cond.Cell())<<16 | 1)
	}
	h.Add(uint64(len(m.waiters))<<1 | b2u(m.recheck))
	h.Add(uint64(m.mem.fault))
	for _, at := range m.watched[m.bootWatched:] {
		h.Join(sim.Hash{Hi: uint64(at), Lo: uint64(at)})
	}
	m.addPages(h)
	m.text.AddState(h)
}

func (m *Machine) addCPU(h *sim.Hash, c *CPU) {
	addRegs(h, &c.regs)
	y := &c.sys
	if boot := m.bootOf(c); *y != boot {
		addSystem(h, y)
	}
	h.Add(uint64(c.task.ID) | uint64(c.after)<<8 | uint64(c.ipi)<<16 | b2u(c.guest)<<24 | b2u(c.nmiBlocked)<<25 | b2u(c.needResched)<<26 | b2u(c.urgent)<<27 | uint64(len(c.runq))<<32)
	for _, t := range c.runq {
		h.Add(uint64(t.ID))
	}
}

// bootOf returns what a CPU's system registers are at boot, but for the clock.
func (m *Machine) bootOf(c *CPU) x86.System {
	y := m.bootSystem(uint32(c.id))
	y.GSBase, y.Clock, y.Asked = uint64(m.gsBases[c.id]), c.sys.Clock, c.sys.Asked
	return y
}

func addSystem(h *sim.Hash, y *x86.System) {
	for _, v := range [...]uint64{
		y.FSBase, y.GSBase, y.KernelGSBase, y.CR0, y.CR2, y.CR3, y.CR8, y.CR4, y.XCR0, y.GDT.Base, y.IDT.Base, y.TSCOffset,
		uint64(y.GDT.Limit) | uint64(y.IDT.Limit)<<16 | uint64(y.LDT)<<32 | uint64(y.TR)<<48, uint64(y.CPU),
	} {
		h.Add(v)
	}
	for _, v := range y.DR {
		h.Add(v)
	}
	for _, v := range y.Seg {
		h.Add(uint64(v))
	}
}

func addRegs(h *sim.Hash, r *arch.Regs) {
	for _, v := range r.R {
		h.Add(v)
	}
	h.Add(uint64(r.IP))
	h.Add(r.Flags)
}

func (t *Task) addState(h *sim.Hash) {
	h.Add(uint64(t.state) | b2u(t.again)<<8 | b2u(t.exiting)<<9 | uint64(t.preempt)<<16 | uint64(len(t.frames))<<48)
	if t.cpu.task != t && t.state != dead {
		addRegs(h, &t.regs)
		h.Add(t.bases.fs)
		h.Add(t.bases.gs)
	}
	for i := range t.frames {
		f := &t.frames[i]
		h.Add(uint64(f.kind) | b2u(f.trap)<<8 | uint64(f.vector)<<16)
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
				addRegs(h, &x.regs)
			}
		}
	}
}

// MemoryState returns a hash of text and data as they are now. Of a task's stack
// what lies below its stack pointer is left out: unless text reads there it is
// written before it is read.
func (m *Machine) MemoryState() (sum sim.Hash) {
	for _, p := range m.mem.dirty {
		low := m.lowest(p.at)
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

// MemoryDigest is a digest of text and data as they are now, less the tasks'
// stacks: what is left on those nobody reads. It doesn't depend on the order of
// the stores that have made them so.
func (m *Machine) MemoryDigest() (sum uint64) {
	for _, p := range m.mem.dirty {
		if m.isStack(p.at) {
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

// lowest returns the lowest address from which on the bytes of a page count.
func (m *Machine) lowest(at arch.Addr) arch.Addr {
	if !m.isStack(at) || m.readsBelow {
		return 0
	}
	base := StackBase
	if m.cfg.Mode == x86.Mode32 {
		base = StackBase32
	}
	t := m.tasks[int(at-base)/(StackSize+pageSize)]
	if t.state == dead && t.cpu.task != t { // nothing runs on it any more
		return t.stack
	}
	sp := t.regs.SP()
	if t.cpu.task == t {
		sp = t.cpu.regs.SP()
	}
	if sp > t.stack || sp < t.stack-StackSize { // it has gone elsewhere, and may come back
		return 0
	}
	return sp &^ 7
}

// ScrubStacks makes the return from a trap leave zeros where its frame and its
// handler's stack were. What a function finds in the bytes of its own stack that
// it hasn't written yet is then the same whatever interrupted it. A run in which
// no text reads such bytes is the same with and without.
func (m *Machine) ScrubStacks(on bool) { m.scrubs = on }

// scrub clears what a trap has used of a stack, down from sp to its frame at base.
func (m *Machine) scrub(base, sp arch.Addr) {
	p := m.mem.page(base)
	off := uint64(base) % pageSize
	if p == nil || !m.isStack(base) || sp < base || off+uint64(sp-base) > pageSize {
		return
	}
	m.mem.touchSpan(p, off, uint64(sp-base))
	clear(p.data[off : off+uint64(sp-base)])
}

// ReadsClock reports whether text has ever asked for the time, which is no part
// of a state.
func (m *Machine) ReadsClock() bool {
	for i := range m.cpus {
		if m.cpus[i].sys.Asked {
			return true
		}
	}
	return false
}

// A Doing is what a step has to do with a routine's local variables.
type Doing struct {
	Routine  bool         // it is a routine's step
	Read     sim.Hash     // what that had read when the step began, and in it but for objects
	OwnWords bool         // it may have looked at the words of its CPU's own
	Reads    []sim.Object // what of the touched it may have kept something of

	// Ctx.Forget was called in the step. What it has read since then is Anew, the
	// words of its CPU's own if OwnNow is set, and Reads from Since on.
	Forgot bool
	Anew   sim.Hash
	OwnNow bool
	Since  int
}

// Doing is for an observer, of the step that it is being told of.
func (m *Machine) Doing() Doing {
	f := m.foot
	d := Doing{Routine: f.began != nil, Read: f.before, Reads: f.reads, Forgot: f.forgot, Anew: f.anew, Since: f.since}
	d.OwnNow = d.Routine && (f.by == nil || f.by.knowsCPU)
	d.OwnWords = d.OwnNow || f.knew
	return d
}

// HasRead is for an observer: h is what the routine whose step it is being told of
// has now read. It isn't taken of one that has ended; nor of one that has done
// nothing but look whether it must wait, and it must: when it goes on it is as if
// it had come there then.
func (m *Machine) HasRead(h sim.Hash) {
	if x := m.foot.by; x != nil && !x.looking {
		x.read = h
	}
}

// knows notes that the routine has looked at v, which is no object's.
func (x *Ctx) knows(v uint64) {
	if f := x.m.foot; f != nil && f.began == x { // else it is over when the step is
		f.before.Add(v)
		f.anew.Add(v)
	}
}

// Forget says that the local variables of a task's body are from here on as n
// says: what it has read before isn't in them any more.
func (x *Ctx) Forget(n uint64) {
	if f := x.m.foot; f != nil && f.began == x {
		f.forgot, f.anew, f.since = true, sim.Hash{Hi: n, Lo: ^n}, len(f.reads)
		f.knew = f.knew || x.knowsCPU
	}
	x.knowsCPU = false
}

// AppendRead appends what each routine under way has read.
func (m *Machine) AppendRead(list []sim.Hash) []sim.Hash {
	for _, t := range m.tasks {
		for i := range t.frames {
			if f := &t.frames[i]; f.kind == routine {
				list = append(list, f.ctx.read)
			}
		}
	}
	return list
}

// SetRead makes each routine under way have read what AppendRead has appended in
// a run that stood at the same place.
func (m *Machine) SetRead(list []sim.Hash) {
	for _, t := range m.tasks {
		for i := range t.frames {
			if f := &t.frames[i]; f.kind == routine {
				if len(list) == 0 {
					sim.Bug("a run that stands at the same place has more routines under way")
				}
				f.ctx.read, list = list[0], list[1:]
			}
		}
	}
	if len(list) != 0 {
		sim.Bug("a run that stands at the same place has %d routines less under way", len(list))
	}
}

// Holds reports whether an object is one that holds something, which a routine
// may read; others only say what happens before what.
func Holds(o sim.Object) bool {
	switch uint64(o >> 56) {
	case objCell, objWord, objChunk, objService:
		return true
	}
	return false
}

// ValueOf returns what an object holds now; ok is false if there is no number
// that says all of it.
func (m *Machine) ValueOf(o sim.Object) (v uint64, ok bool) {
	if uint64(o>>56) == objWord {
		v, ok = m.mem.Load(bytesAt(uint64(o)&(1<<56-1)), 8)
	}
	return v, ok
}

// CPUOf returns the CPU that a mover's step is on, -1 if on none.
func (m *Machine) CPUOf(mv sim.Mover) int {
	switch {
	case mv < sim.MoverIPI:
		return int(mv)
	case mv < sim.MoverSource:
		return int(mv - sim.MoverIPI)
	}
	if c := m.sources[mv-sim.MoverSource].cpu; c != nil {
		return int(c.id)
	}
	return -1
}

// ObserveLate is for a run that goes as one before did up to some question: it
// isn't observed until ObserveNow is called while that question is put.
func (m *Machine) ObserveLate() { m.late = true }

// ObserveNow makes the observer be told of the steps from here on. It is called
// while a Step question is put.
func (m *Machine) ObserveNow() {
	if m.foot != nil {
		sim.Bug("the run is observed already")
	}
	m.watch()
	m.begun = true
}

// Observing reports whether an observer is told of the step under way.
func (m *Machine) Observing() bool { return m.foot != nil }
