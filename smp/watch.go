package smp

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"kpsim/sim"
	"kpsim/smp/fetch"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A footprint is what an observed machine knows of the step under way, and of
// what its CPUs share.
//
// A step is private if it is an instruction of text that touches nothing that
// others see, and changes nothing that says what may be delivered to its CPU.
// Every other step of a CPU reads the CPU's boundary, which a delivery writes. So
// a delivery conflicts with those, and commutes with private ones in this sense:
// the instruction is executed before the interrupt, or after its IRET, and nobody
// can tell which.
type footprint struct {
	m        *Machine
	observer sim.Observer
	mover    sim.Mover // whose step is under way, NoMover if none is
	stood    stance    // of its CPU when the step began
	asked    bool      // the instruction asked for more than registers and memory
	touched  []sim.Touch
	ahead    [sim.MaxCPUs]sim.Touch
	words    words
	grew     bool
	whole    bool       // see ObserveWhole
	inside   *CPU       // it is in an interrupt that is one step with its delivery
	data     isa.Memory // watchedMemory, converted once
}

// A stance is what a private step leaves as it was.
type stance struct {
	task   *Task
	frames int
	guest  bool
	open   bool
	after  after
	nmi    bool
}

func (c *CPU) stance() stance {
	return stance{c.task, len(c.task.frames), c.guest, c.regs.Flags&isa.IF != 0, c.after, c.nmiBlocked}
}

// Observe makes o be told of the steps of each run from the next Reset on; nil
// is nobody. While there is an observer every boundary is its own step: nothing
// else changes, no event and no question.
func (m *Machine) Observe(o sim.Observer) {
	if m.prints == nil {
		if o == nil {
			return
		}
		f := &footprint{m: m}
		f.data = &watchedMemory{f}
		m.prints = f
	}
	m.prints.observer = o
	m.prints.whole = false
}

// ObserveWhole is Observe for whoever is to see as few conflicts as there are: an
// interrupt whose handler has no point is one step, from its delivery to the
// IRET, and its mover's. Nobody is asked within: the answers there are 0.
//
// That leaves out no order that matters. While the handler runs, its CPU takes
// no interrupt (nothing is whole if there are NMIs). Of what other CPUs do
// meanwhile, an IPI sent to this CPU touches what the delivery does; and with two
// CPUs the only other one is waiting for this handler's answer, or the handler
// answers nobody. The rest commutes with the delivery, which can come later, or
// with the IRET, which can come earlier. Whoever looks whether the CPU is idle
// would see a difference: so nothing is whole there.
//
// A whole interrupt leaves its CPU as it was. It commutes with the CPU's steps,
// unless they change what may be delivered, or where fetches may be stale, since
// an IRET serialises.
func (m *Machine) ObserveWhole(o sim.Observer) {
	m.Observe(o)
	m.prints.whole = m.cfg.Fetch == fetch.Coherent && len(m.cpus) <= 2 &&
		!slices.ContainsFunc(m.sources, func(s *Source) bool { return s.Kind == NMISource })
}

// beginWhole is called when an interrupt has been delivered to c.
func (m *Machine) beginWhole(c *CPU, vec uint8) {
	f := m.foot
	if f != nil && f.whole && c.task != c.idle && c.task.top().ctx.prompt && (vec == smpev.VecCall || vec == smpev.VecTimer) {
		f.inside = c
	}
}

// within goes on with a whole interrupt: it returns the CPU, if that is to move.
func (m *Machine) within() sim.Mover {
	c := m.foot.inside
	t := c.task.top()
	if m.over || c.task != m.foot.stood.task || len(c.task.frames) <= m.foot.stood.frames ||
		t.kind == guest || t.kind == routine && !t.ctx.prompt {
		return sim.NoMover
	}
	if !m.unasked(c) {
		return sim.NoMover
	}
	return m.p.First
}

// unasked passes a boundary at which c is to go on, without asking, if by default
// it would. The step goes on.
func (m *Machine) unasked(c *CPU) bool {
	goes := !m.over && m.look() && m.p.First == sim.Mover(c.id)
	m.limit = 0
	if !goes {
		return false
	}
	if m.steps++; m.p.N > 1 {
		m.p.Seq++
	}
	return true
}

// SharedGrew reports whether, since it was last asked, a run has shown that
// something is shared of which it wasn't known: steps of earlier runs have
// touched it and didn't say so. What is known to be shared never shrinks.
func (m *Machine) SharedGrew() bool {
	f := m.prints
	if f == nil || !f.grew {
		return false
	}
	f.grew = false
	return true
}

// observe begins a run: with an observer or without.
func (m *Machine) observe() {
	m.foot, m.data, m.p.Ahead = nil, &m.mem, nil
	if f := m.prints; f != nil && f.observer != nil {
		m.foot, m.data, m.p.Ahead = f, f.data, &f.ahead
		f.mover, f.touched, f.inside = sim.NoMover, f.touched[:0], nil
	}
}

// turnObserved is turn of an observed machine: it tells of the step that has
// ended, and keeps every boundary one that is looked at.
func (m *Machine) turnObserved() sim.Mover {
	f := m.foot
	if m.recheck && !m.over && m.log.Found == nil && m.steps < m.cfg.Budget {
		m.recheckWaiters() // whom the step has let go on, it has
	}
	if f.inside != nil {
		if mv := m.within(); mv != sim.NoMover {
			return mv
		}
	}
	f.end()
	mv := sim.NoMover
	if m.look() {
		f.lookAhead()
		mv = m.turn() // has nothing to look at: it asks
	}
	m.limit = 0
	f.begin(mv)
	return mv
}

// cpu returns the CPU whose step is under way, nil if it is no CPU's.
func (f *footprint) cpu() *CPU {
	switch mv := f.mover; {
	case mv == sim.NoMover:
		return nil
	case mv < sim.MoverIPI:
		return &f.m.cpus[mv]
	case mv < sim.MoverSource:
		return &f.m.cpus[mv-sim.MoverIPI]
	default:
		return f.m.sources[mv-sim.MoverSource].cpu
	}
}

// begin begins the step of a mover.
func (f *footprint) begin(mv sim.Mover) {
	f.mover, f.asked = mv, false
	c := f.cpu()
	if c == nil {
		return
	}
	m := f.m
	m.mem.cpu = c.id
	f.stood = c.stance()
	if mv < sim.MoverIPI && c.guest {
		if in := c.known(); in != nil { // else it is fetched, and that is seen
			m.touchFetch(c.regs.IP, int(in.Len))
		}
	}
}

// end tells of the step under way, if there is one.
func (f *footprint) end() {
	mv := f.mover
	if mv == sim.NoMover {
		return
	}
	if c := f.cpu(); c != nil {
		same := f.stood == c.stance()
		switch {
		case mv >= sim.MoverIPI:
			f.add(object(objBoundary, uint64(c.id)), f.inside == nil || !same)
		case len(f.touched) > 0 || f.asked || !f.stood.guest || f.stood.after != 0 || !same:
			f.add(object(objBoundary, uint64(mv)), f.whole && !same)
		}
	}
	f.inside = nil
	f.mover = sim.NoMover
	f.observer.Stepped(mv, f.touched)
	f.touched = f.touched[:0]
}

// add takes one touch of the step under way.
func (f *footprint) add(o sim.Object, write bool) {
	if f.mover == sim.NoMover {
		return
	}
	for i := range f.touched {
		if t := &f.touched[i]; t.Object == o {
			t.Write = t.Write || write
			return
		}
	}
	f.touched = append(f.touched, sim.Touch{Object: o, Write: write})
}

// lookAhead finds out what the next step of each CPU begins with touching.
func (f *footprint) lookAhead() {
	m := f.m
	for i := range m.cpus {
		c := &m.cpus[i]
		f.ahead[i] = sim.Touch{}
		switch t := c.task.top(); {
		case t == nil:
			f.ahead[i] = sim.Touch{Object: object(objQueue, uint64(i)), Write: true}
		case t.kind == routine:
			f.ahead[i] = t.ctx.ahead
		case t.kind == guest:
			if p := m.mem.page(c.regs.IP); p != nil && (p.watched[c.regs.IP%pageSize/chunk] || m.foot.words.shared(bytesNumber(c.regs.IP))) {
				f.ahead[i] = sim.Touch{Object: object(objChunk, bytesNumber(c.regs.IP))}
			}
		}
	}
}

// pointAt is point of an observed machine: the step that begins there touches
// an object first.
func (x *Ctx) pointAt(sort, number uint64, write bool) {
	x.ahead = sim.Touch{Object: object(sort, number), Write: write}
	x.point()
	x.ahead = sim.Touch{}
	x.m.touch(sort, number, write)
}

// accessPoint is the point before an access to a cell, observed or not.
func (x *Ctx) accessPoint(id kapi.CellID, mode kapi.Mode) {
	if x.m.foot == nil {
		x.point()
		return
	}
	x.pointAt(objCell, uint64(id), mode == kapi.Write)
}

// textPoint is the point before an access to text, observed or not. Text that
// is read may not be watched; the touch comes with the read.
func (x *Ctx) textPoint(a isa.Addr, write bool) {
	if x.m.foot != nil {
		x.ahead = sim.Touch{Object: object(objChunk, bytesNumber(a)), Write: write}
	}
	x.point()
	x.ahead = sim.Touch{}
}

// A watchedMemory is memory as the CPUs of an observed machine access it.
type watchedMemory struct{ f *footprint }

// Load implements isa.Memory.
func (w *watchedMemory) Load(a isa.Addr, size int) (uint64, bool) {
	v, ok := w.f.m.mem.Load(a, size)
	if ok {
		w.f.access(a, size, false)
	}
	return v, ok
}

// Store implements isa.Memory.
func (w *watchedMemory) Store(a isa.Addr, size int, v uint64) bool {
	ok := w.f.m.mem.Store(a, size, v)
	if ok {
		w.f.access(a, size, true)
	}
	return ok
}

// System implements isa.Memory: there is a clock in it, and what decides how
// the CPU goes on.
func (w *watchedMemory) System() *isa.System {
	w.f.asked = true
	return w.f.m.mem.System()
}

// access takes an access to data by the step under way.
func (f *footprint) access(a isa.Addr, size int, write bool) {
	c := f.cpu()
	if c == nil {
		return
	}
	f.accessWord(c, a, write)
	if last := a + isa.Addr(size-1); bytesNumber(last) != bytesNumber(a) {
		f.accessWord(c, last, write)
	}
}

// accessWord takes an access to the eight aligned bytes that a lies in.
//
// They are shared, from then on and for the life of the machine, once two
// threads have accessed them and one has written. A thread is the tasks of a CPU
// (one task, where it can lose the CPU to another at an interrupt), or the
// interrupts on top of them: an interrupt's handler can't be delivered anywhere
// before or after an instruction that reads what the handler writes.
//
// A task's own stack is its own. Below the frame of an interrupt it is the
// interrupt's: what was interrupted reads nothing there that it hasn't written
// after.
func (f *footprint) accessWord(c *CPU, a isa.Addr, write bool) {
	n := bytesNumber(a)
	t := c.task
	level, top := t.level(f.m.frameSize())
	if own := a < t.stack && a >= t.stack-StackSize; own && (level == 0 || a < top) {
		if f.words.stacks && f.words.shared(n) {
			f.add(object(objWord, n), write)
		}
		return
	} else if own || f.m.isStack(a) {
		if f.words.share(n) {
			f.grew = true
		}
		f.words.stacks = true
		f.add(object(objWord, n), write)
		return
	}
	if p := f.m.mem.page(a); p != nil && p.perm&PermExec != 0 {
		f.m.touchFetch(a, 1)
		return
	}
	who := uint16(c.id)
	if f.m.cfg.Full {
		who = uint16(t.ID)
	}
	shared, grew := f.words.access(n, who<<4|uint16(level), write)
	f.grew = f.grew || grew
	if shared {
		f.add(object(objWord, n), write)
	}
}

// level returns how many interrupts are open on the task, and below which
// address its stack is the innermost one's. size is that of a frame.
func (t *Task) level(size isa.Addr) (n int, top isa.Addr) {
	for i := range t.frames {
		if fr := &t.frames[i]; fr.trap && (fr.vector == smpev.VecNMI || fr.vector >= 32) {
			n, top = n+1, fr.base+size
		}
	}
	return min(n, 15), top
}

func (m *Machine) frameSize() isa.Addr {
	if m.cfg.Mode == isa.Mode32 {
		return ptRegs32Size
	}
	return kapi.PtRegsSize
}

// isStack reports whether an address lies in the stack of any task.
func (m *Machine) isStack(a isa.Addr) bool {
	base := StackBase
	if m.cfg.Mode == isa.Mode32 {
		base = StackBase32
	}
	return a >= base && a < base+isa.Addr(m.nStacks)*(StackSize+pageSize)
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
