package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// x86's memory is sequentially consistent except that a CPU holds its stores in a FIFO
// buffer, and its loads may go before them (Sewell and others: x86-TSO, CACM 2010). A CPU's
// loads see the stores that it holds itself. The strategy decides when the oldest store takes
// effect (sim.MoverDrain); the default is at once. The buffer is empty after a fence, a
// locked or serialising instruction, an access to a port, and an interrupt (SDM vol. 3,
// "Store Buffer"). It is also empty after an IPI was sent and after a task switch, because
// the kernel has fences there. Stores to text take effect at once.

// mostHeld is the most stores a CPU can hold. One more makes the oldest take effect.
// Processors have 32 to about 70 places (Intel's optimization manual).
const mostHeld = 32

// A buffer is the stores that a CPU holds, oldest first.
type buffer struct {
	q      []heldStore
	off    bool   // a strategy has delayed the oldest: by default the stores now wait until they must drain
	issued uint64 // stores that it has held in this run
}

// A heldStore is a store, to a cell or to memory, that other CPUs don't see yet.
type heldStore struct {
	cell  kapi.Cell // nil: the store is to memory
	at    arch.Addr
	size  uint8
	shown bool // smpev.Held was emitted
	value uint64
	by    sim.Hash // what the storing step had read, for states; zero: not known yet
}

// buffered is a context as a kapi.Model, on a machine whose CPUs hold stores.
type buffered Ctx

var _ kapi.Model = (*buffered)(nil)

// Load implements kapi.Model.
func (x *buffered) Load(c kapi.Cell, b kapi.Barrier) (held, back int) {
	cpu := x.cpu
	x.m.tracer.tellCell(cpu, CellLoad, c.ID(), b, 0)
	if !x.m.weak.buffers[cpu.id].has(c.ID()) {
		return -1, 0
	}
	if f := x.m.foot; f != nil {
		f.add(objectHeldCell(cpu, c), false)
		f.read(objectHeldCell(cpu, c))
	}
	return int(cpu.id), 0
}

// has reports whether a store to a cell is held.
func (b *buffer) has(id kapi.CellID) bool {
	for i := range b.q {
		if c := b.q[i].cell; c != nil && c.ID() == id {
			return true
		}
	}
	return false
}

// Store implements kapi.Model.
func (x *buffered) Store(c kapi.Cell, b kapi.Barrier) (held, back int) {
	x.m.tracer.tellCell(x.cpu, CellStore, c.ID(), b, 0)
	if x.m.weak.passes(x.cpu) {
		return -1, 0
	}
	x.m.weak.holdStore(x.cpu, heldStore{cell: c})
	return int(x.cpu.id), 0
}

// Update implements kapi.Model.
func (x *buffered) Update(c kapi.Cell, b kapi.Barrier) (from, held int) {
	if from, _ = x.Load(c, b); from < 0 && x.m.foot != nil {
		o := object(objCell, uint64(c.ID()))
		x.m.foot.add(o, false)
		x.m.foot.read(o)
	}
	held, _ = x.Store(c, b)
	return from, held
}

// Locked implements kapi.Model. A compare-and-exchange that fails is locked as well.
func (x *buffered) Locked(c kapi.Cell, b kapi.Barrier, fails bool) bool {
	x.m.weak.flush(x.cpu)
	x.m.tracer.tellCell(x.cpu, CellRMW+CellOp(b2u(fails)), c.ID(), b, 0)
	x.m.foot.touchUpdate(c.ID())
	return !fails
}

// touchUpdate notes that a routine reads and writes a cell.
func (f *Footprint) touchUpdate(id kapi.CellID) {
	if f != nil {
		f.add(object(objCell, uint64(id)), true)
		f.read(object(objCell, uint64(id)))
		f.overwritten(object(objCell, uint64(id)))
	}
}

// Keeps implements kapi.Model.
func (x *buffered) Keeps() bool { return false }

// holdStore makes a CPU hold a store.
func (w *WeakMemory) holdStore(c *CPU, s heldStore) {
	m := w.m
	b := &w.buffers[c.id]
	if len(b.q) == mostHeld {
		w.drain(c)
	}
	if s.cell != nil {
		w.cells = append(w.cells, s.cell)
	}
	m.foot.touchPlace(c, b.issued)
	b.issued++
	b.q = append(b.q, s)
	if b.off {
		w.showHeld(c)
	} else {
		w.prompt |= c.bit
	}
	m.turns.moves[3] |= c.bit
	m.turns.again()
}

// putOff delays the stores of a CPU: drain was to move next by default, and the strategy
// picked another mover.
func (w *WeakMemory) putOff(drain sim.Mover) {
	c := &w.m.cpus.list[drain-sim.MoverDrain]
	w.buffers[c.id].off = true
	w.prompt &^= c.bit
	w.showHeld(c)
	w.m.turns.again()
}

// showHeld emits smpev.Held for the stores that a CPU holds while others move.
func (w *WeakMemory) showHeld(c *CPU) {
	q := w.buffers[c.id].q
	for i := range q {
		if s := &q[i]; !s.shown {
			s.shown = true
			w.emitStore(c, smpev.Held, s)
		}
	}
}

// emitStore emits an event of kind k about a store.
func (w *WeakMemory) emitStore(c *CPU, k traces.Kind, s *heldStore) {
	if s.cell != nil {
		w.m.emit(c, k, uint64(s.cell.ID()), 0, 0)
		return
	}
	w.m.emit(c, k, uint64(s.at), s.value, uint64(s.size))
}

// hasten makes the stores of a CPU take effect next by default, because the CPU waits.
func (w *WeakMemory) hasten(c *CPU) {
	if !w.holds {
		return
	}
	if b := &w.buffers[c.id]; b.off && len(b.q) > 0 {
		b.off = false
		w.prompt |= c.bit
		w.m.turns.again()
	}
}

// drain makes the oldest store that a CPU holds take effect.
func (w *WeakMemory) drain(c *CPU) {
	m := w.m
	b := &w.buffers[c.id]
	s := b.q[0]
	n := copy(b.q, b.q[1:])
	b.q[n] = heldStore{}
	b.q = b.q[:n]
	m.foot.touch(objBuffer, uint64(c.id), true)
	m.foot.touchPlace(c, b.issued-uint64(n)-1)
	if s.cell != nil {
		id := uint64(s.cell.ID())
		if m.foot != nil {
			m.foot.drains(c, &s)
		}
		m.foot.touch(objCell, id, true)
		s.cell.Commit(int(c.id))
		if m.waits.on[uint8(id)] != 0 {
			m.waits.recheck, m.time.stored = true, m.time.now[c.id]
		}
	} else {
		m.foot.touchHeldWords(c, s.at, s.size, true)
		cpu := m.mem.cpu
		m.mem.cpu = c.id
		if !w.data.Memory.Store(s.at, int(s.size), s.value) {
			sim.Bug("cpu%d: a store to %#x that was held, to memory that isn't there any more", c.id, uint64(s.at))
		}
		m.mem.cpu = cpu
	}
	if s.shown {
		w.emitStore(c, smpev.Commit, &s)
	}
	if m.turns.spins {
		m.turns.storesMove(c)
	}
	if n == 0 {
		b.off = false
		w.prompt &^= c.bit
		m.turns.moves[3] &^= c.bit
	}
	m.turns.again()
}

// flush makes all stores that a CPU holds take effect, because its next action waits for
// that. An empty buffer still counts as a touch: an earlier step may have drained it, and
// that is an order, too.
func (w *WeakMemory) flush(c *CPU) {
	if w.holds {
		w.flushHeld(c)
	}
}

func (w *WeakMemory) flushHeld(c *CPU) {
	w.m.foot.touch(objBuffer, uint64(c.id), false)
	for len(w.buffers[c.id].q) > 0 {
		w.drain(c)
	}
	w.m.tracer.tellCell(c, CellFence, 0, kapi.PlainMB, 0)
}

// flushOther is flush by another CPU's step, as if that step had interrupted c.
func (w *WeakMemory) flushOther(c *CPU) {
	if !w.holds {
		return
	}
	w.m.foot.touch(objBoundary, uint64(c.id), true)
	w.flush(c)
}

// flushOver flushes c if it holds a store to any of the bytes. It is called before the
// bytes are written without going through c's buffer.
func (w *WeakMemory) flushOver(c *CPU, at arch.Addr, size int) {
	w.m.foot.touch(objBuffer, uint64(c.id), false)
	if w.buffers[c.id].overlaps(at, size) {
		w.flushOther(c)
	}
}

// flushAll flushes all CPUs: a page is unmapped, which interrupts them.
func (w *WeakMemory) flushAll() {
	for i := range w.m.cpus.list {
		w.flushOther(&w.m.cpus.list[i])
	}
}

// executeHolding is execute on a CPU that may hold stores.
func (m *Machine) executeHolding(c *CPU, in *inst) {
	for {
		if m.weak.locked = in.Drains; m.weak.locked {
			m.weak.flush(c)
			m.mem.cpu = c.id
		}
		if m.tracer.to != nil {
			m.tracer.to.Instruction(c.id, in.Inst, &c.regs)
		}
		m.log.Mix(uint64(in.Addr)<<6 | uint64(c.id))
		m.time.spend(c.id, cycles.Instruction, 1)
		m.turns.instr++
		if out := in.Run(in, &c.regs, m.mem.own); out != arch.Next || c.after != 0 {
			m.react(c, in, out)
			return
		}
		next := c.known()
		if next == nil || m.turns.steps >= m.turns.limit || m.tracer.to != nil {
			return
		}
		m.turns.steps++
		in = next
	}
}

// passes makes a store of c take effect at once if the boundary where it would is the next
// one and the answer there is already known. It passes that boundary.
func (w *WeakMemory) passes(c *CPU) bool {
	m := w.m
	if m.turns.outlasts&sim.Drains == 0 || m.turns.steps >= m.turns.limit || m.turns.p.First != sim.Mover(c.id) ||
		m.foot != nil || m.turns.spins || len(w.buffers[c.id].q) > 0 {
		return false
	}
	if m.turns.p.N <= 1 { // a store that could wait adds a second move, so there is a question
		if m.turns.settle(); m.turns.steps >= m.turns.hold {
			return false
		}
		m.turns.p.Seq++
		m.turns.settled++
	}
	m.turns.steps++
	w.passed = m.turns.steps
	return true
}

// stored reports whether a CPU holds a store, or would if the one of this step hadn't
// passed.
func (w *WeakMemory) stored(c *CPU) bool {
	return len(w.buffers[c.id].q) > 0 || w.passed == w.m.turns.steps
}

// Put stores to memory at once, as a hook of the machine. Stores to those bytes that CPUs
// hold take effect first.
func (m *Memory) Put(at arch.Addr, size int, v uint64) {
	for i := range m.m.weak.buffers {
		m.m.weak.flushOver(&m.m.cpus.list[i], at, size)
	}
	m.Store(at, size, v)
}

// Seen returns size bytes of memory as a CPU sees them, its own held stores included. It
// doesn't count as an access.
func (m *Memory) Seen(cpu int, at arch.Addr, size int) (v uint64, ok bool) {
	v, ok = m.Load(at, size)
	if m.m.weak.holds && ok {
		v = m.m.weak.buffers[cpu].over(v, at, size)
	}
	return v, ok
}

func (b *buffer) overlaps(at arch.Addr, size int) bool {
	for i := range b.q {
		if b.q[i].meets(at, size) {
			return true
		}
	}
	return false
}

// meets reports whether the store overlaps the size bytes at at.
func (s *heldStore) meets(at arch.Addr, size int) bool {
	return s.cell == nil && s.at < at+arch.Addr(size) && at < s.at+arch.Addr(s.size)
}

// A bufferedMemory is memory as a CPU that holds stores accesses it. It implements
// arch.Memory.
type bufferedMemory struct {
	w *WeakMemory
	arch.Memory
}

// Load implements arch.Memory: memory, and over it what the CPU holds.
func (d *bufferedMemory) Load(a arch.Addr, size int) (uint64, bool) {
	m := d.w.m
	if p := m.mem.keptApart(a, size); p != nil {
		return m.mem.loadCount(p, d, a, size)
	}
	b := &d.w.buffers[m.mem.cpu]
	if len(b.q) == 0 || !b.overlaps(a, size) {
		return d.Memory.Load(a, size)
	}
	m.foot.touchHeldWords(&m.cpus.list[m.mem.cpu], a, uint8(size), false)
	if s := b.last(a, size); s != nil {
		if m.foot != nil {
			m.foot.looksBelow(&m.cpus.list[m.mem.cpu], a)
		}
		return s.value >> (8 * (a - s.at)) & (^uint64(0) >> (64 - 8*size)), true
	}
	v, ok := d.Memory.Load(a, size)
	if ok {
		v = b.over(v, a, size)
	}
	return v, ok
}

// last returns the newest store that overlaps the bytes if it covers all of them, so that
// no other store matters.
func (b *buffer) last(a arch.Addr, size int) *heldStore {
	for i := len(b.q) - 1; i >= 0; i-- {
		if s := &b.q[i]; s.meets(a, size) {
			if s.at <= a && a+arch.Addr(size) <= s.at+arch.Addr(s.size) {
				return s
			}
			return nil
		}
	}
	return nil
}

// over applies the held stores to v, the size bytes at a.
func (b *buffer) over(v uint64, a arch.Addr, size int) uint64 {
	for i := range b.q {
		s := &b.q[i]
		if !s.meets(a, size) {
			continue
		}
		for k := range arch.Addr(s.size) {
			if to := s.at + k - a; to < arch.Addr(size) {
				v = v&^(0xff<<(8*to)) | s.value>>(8*k)&0xff<<(8*to)
			}
		}
	}
	return v
}

// Store implements arch.Memory. A store that isn't permitted faults now. A store to the
// CPU's own stack isn't held unless an older store is: there are many of them, and no other
// CPU could notice the delay.
func (d *bufferedMemory) Store(a arch.Addr, size int, v uint64) bool {
	m := d.w.m
	c := &m.cpus.list[m.mem.cpu]
	if p := m.mem.keptApart(a, size); p != nil {
		return m.mem.storeCount(p, d, a, size, v)
	}
	stack := c.task.stack-a <= StackSize
	if stack && m.foot != nil && m.foot.words.shared(bytesNumber(a)) {
		m.foot.touch(objBuffer, uint64(c.id), false) // an empty buffer means not held
	}
	if d.w.locked && c.guest || stack && !m.weak.stored(c) || m.mem.ownCount(a, size) {
		return d.Memory.Store(a, size, v)
	}
	if fault, ok := m.mem.permits(a, size, PermWrite); !ok {
		m.mem.fault = fault
		return false
	}
	if m.mem.guards && d == &d.w.own && m.tasks.deadStack(c, a) {
		m.mem.fault = a
		return false
	}
	if m.weak.passes(c) {
		return d.Memory.Store(a, size, v)
	}
	if m.foot != nil {
		m.foot.onStack(c, a, size, true)
	}
	m.weak.holdStore(c, heldStore{at: a, size: uint8(size), value: v & (^uint64(0) >> (64 - 8*size))})
	return true
}

// System returns the system state from the underlying memory.
func (d *bufferedMemory) System() system {
	return d.Memory.(arch.Systemic).System()
}

// The objects below relate a held store to steps of movers other than its CPU. The n-th
// store of a CPU has a place. The step that makes the store and the step that drains it both
// write the place, so the drain can't come first; the next store that needs the same place
// writes it too. A load that finds a held value reads the held object, and the drain writes
// it. Loads of memory that no other thread uses don't, because nothing can tell where the
// value was found. A step that waits for an empty buffer reads the buffer object, which a
// drain writes.

// touchPlace notes that the n-th store of a CPU, from 0, is made or takes effect.
func (f *Footprint) touchPlace(c *CPU, n uint64) {
	f.touch(objHeldPlace, uint64(c.id)<<8|n%mostHeld, true)
}

func objectHeldCell(c *CPU, cell kapi.Cell) sim.Object {
	return object(objHeldCell, uint64(c.id)<<32|uint64(cell.ID()))
}

func objectHeldWord(c *CPU, a arch.Addr) sim.Object {
	return object(objHeldWord, uint64(c.id)<<45|bytesNumber(a))
}

// touchHeldWords notes an access to memory words to which the CPU holds stores.
func (f *Footprint) touchHeldWords(c *CPU, a arch.Addr, size uint8, write bool) {
	if f == nil {
		return
	}
	for at := a; at < a+arch.Addr(size); at = at&^7 + 8 {
		if f.words.shared(bytesNumber(at)) {
			f.add(objectHeldWord(c, at), write)
			if !write {
				f.read(objectHeldWord(c, at))
			}
		}
	}
}

// addHeld adds held stores to memory to a hash. Stores to cells are hashed with the cells.
func (w *WeakMemory) addHeld(h *sim.Hash) {
	if !w.holds {
		return
	}
	for i := range w.buffers {
		b := &w.buffers[i]
		h.Add(uint64(len(b.q)))
		for j := range b.q {
			s := &b.q[j]
			if s.cell != nil {
				h.Add(uint64(s.cell.ID())<<8 | 0xff)
				continue
			}
			h.Add(uint64(s.at))
			h.Add(s.value)
			h.Add(uint64(s.size))
		}
	}
}
