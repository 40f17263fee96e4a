package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// A watchedMemory is memory as the CPUs of an observed machine access it.
type watchedMemory struct{ f *Footprint }

// Load implements arch.Memory.
func (w *watchedMemory) Load(a arch.Addr, size int) (uint64, bool) {
	v, ok := w.f.m.mem.Load(a, size)
	if ok {
		w.f.access(a, size, false)
	}
	return v, ok
}

// Store implements arch.Memory.
func (w *watchedMemory) Store(a arch.Addr, size int, v uint64) bool {
	ok := w.f.m.mem.Store(a, size, v)
	if ok {
		w.f.access(a, size, true)
	}
	return ok
}

// System returns the system state of the executing CPU. The state includes the clock and
// bits that decide how the CPU continues, so the step touches more than memory.
func (w *watchedMemory) System() system {
	w.f.asked = true
	return w.f.m.mem.System()
}

// access records a data access by the current step.
func (f *Footprint) access(a arch.Addr, size int, write bool) {
	c := f.cpu()
	if c == nil {
		return
	}
	if f.m.mem.near(a) == nil {
		if al := f.m.mem.aliasOf(a, size); al != nil {
			f.touchFetch(al.text(a), size) // a store has been noted as one to text
			return
		}
		a = f.countAccess(c, a, size)
	}
	if !write {
		f.looksBelow(c, a)
	}
	f.onStack(c, a, size, write)
	f.accessWord(c, a, write)
	if last := a + arch.Addr(size-1); bytesNumber(last) != bytesNumber(a) {
		f.accessWord(c, last, write)
	}
}

// looksBelow records that a CPU reads an address that may be below its stack pointer.
func (f *Footprint) looksBelow(c *CPU, a arch.Addr) {
	if t := c.task; !f.readsBelow && c.guest && a < f.m.arch.StackPointer(&c.regs) && a >= t.stack-StackSize {
		f.readsBelow, f.grew, f.words.learnt = true, true, true
	}
}

// accessWord records an access to the aligned eight-byte word that contains a.
//
// The word becomes shared, for the life of the machine, once two threads have accessed it
// and one of them has written it. A thread is either all tasks of one CPU (or a single task,
// if an interrupt can switch tasks) or the interrupts on top of them. Interrupts are a thread
// of their own because the order of a handler and an instruction matters when the
// instruction reads a word that the handler writes.
//
// A task's stack is private to the task. The part below an interrupt's frame belongs to the
// interrupt: interrupted code reads nothing there before writing it again.
func (f *Footprint) accessWord(c *CPU, a arch.Addr, write bool) {
	n := bytesNumber(a)
	t := c.task
	level, top := t.level(arch.Addr(f.m.arch.Frame.Size))
	if own := a < t.stack && a >= t.stack-StackSize; own && (level == 0 || a < top) {
		if f.words.stacks && f.words.shared(n) {
			f.add(object(objWord, n), write)
			f.read(object(objWord, n))
		}
		return
	} else if own || f.m.tasks.isStack(a) {
		if f.words.share(n) {
			f.grew = true
		}
		f.words.stacks = true
		f.add(object(objWord, n), write)
		f.read(object(objWord, n))
		return
	}
	if p := f.m.mem.page(a); p != nil && p.code != nil {
		f.m.foot.touchFetch(a, 1)
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
		f.read(object(objWord, n))
	}
}

// level returns how many interrupts are open on the task, and the address below which its
// stack belongs to the innermost one. size is the size of a frame.
func (t *Task) level(size arch.Addr) (n int, top arch.Addr) {
	for i := range t.frames {
		if fr := &t.frames[i]; fr.trap && (fr.vector == smpev.VecNMI || fr.vector >= 32) {
			n, top = n+1, fr.base+size
		}
	}
	return min(n, 15), top
}

// Bytes of a function's own stack that it hasn't written hold what earlier calls and
// interrupts left, which is no part of a state. A proof over states therefore asks
// whether text reads such bytes at all (ReadsUninit).

// A stackUse records which aligned eight-byte words of a task's stack were stored to since
// the stack pointer was last above them, as seen by an observed machine.
type stackUse struct {
	written [StackSize / 8 / 64]uint64
	low     arch.Addr // nothing below counts as written
}

// inUse is the number of bytes at the top of a stack that no call of text begins above.
const inUse = 64

// begin marks everything from sp up as written.
func (u *stackUse) begin(t *Task, sp arch.Addr) {
	clear(u.written[:])
	u.low = min(max(sp, t.stack-StackSize), t.stack) &^ 7
	for a := u.low; a < t.stack; a += 8 {
		u.set(t, a)
	}
}

func (u *stackUse) set(t *Task, a arch.Addr) {
	n := (a - (t.stack - StackSize)) / 8
	u.written[n/64] |= 1 << (n % 64)
}

// pointer records that the stack pointer is sp after a step.
func (u *stackUse) pointer(t *Task, sp arch.Addr) {
	for ; u.low < sp && u.low < t.stack; u.low += 8 {
		n := (u.low - (t.stack - StackSize)) / 8
		u.written[n/64] &^= 1 << (n % 64)
	}
}

// access records an access to the task's own stack, and reports whether it reads
// uninitialised bytes.
func (u *stackUse) access(t *Task, a arch.Addr, write bool) (uninit bool) {
	n := (a - (t.stack - StackSize)) / 8
	if write {
		u.set(t, a)
		u.low = min(u.low, a&^7)
		return false
	}
	return u.written[n/64]>>(n%64)&1 == 0 && a < t.stack-inUse
}

// onStack records a data access by c's step, for stackUse.
func (f *Footprint) onStack(c *CPU, a arch.Addr, size int, write bool) {
	t := c.task
	if a < t.stack-StackSize || a+arch.Addr(size) > t.stack {
		return
	}
	for at := a; at < a+arch.Addr(size); at = at&^7 + 8 {
		if t.use.access(t, at, write) && c.guest {
			f.readsUninit = true
		}
	}
}

// frame records that a trap has written its frame to a stack.
func (f *Footprint) frame(t *Task, base arch.Addr, size int) {
	for at := base; at < base+arch.Addr(size); at += 8 {
		if at >= t.stack-StackSize && at < t.stack {
			t.use.access(t, at, true)
		}
	}
}

// A trial executes an instruction without effect, to find out which shared memory its
// next execution touches first. It implements arch.Memory. A store to it fails, so that the
// instruction gives up.
type trial struct {
	f      *Footprint
	cpu    *CPU
	regs   arch.Regs // the trial's own copy
	system system    // the trial's own copy
	touch  sim.Touch
}

// of returns the first touch of a CPU's next instruction, among the words known to be
// shared. An instruction that reads and then writes a word counts as writing it.
func (t *trial) of(c *CPU) sim.Touch {
	in := c.known()
	if in == nil {
		return sim.Touch{}
	}
	t.cpu, t.regs, t.touch = c, c.regs, sim.Touch{}
	t.system.Copy(c.sys)
	in.Run(in, &t.regs, t)
	return t.touch
}

// Load implements arch.Memory.
func (t *trial) Load(a arch.Addr, size int) (uint64, bool) {
	mem := &t.f.m.mem
	if al := mem.aliasOf(a, size); al != nil {
		if t.touch.Object == 0 {
			t.touch.Object = object(objChunk, bytesNumber(al.text(a)))
		}
		return mem.loadAlias(a, size)
	}
	fault := mem.fault
	v, ok := mem.Load(a, size)
	mem.fault = fault
	if ok && t.touch.Object == 0 && t.f.words.shared(bytesNumber(a)) {
		t.touch.Object = object(objWord, bytesNumber(a))
	}
	return v, ok
}

// Store implements arch.Memory.
func (t *trial) Store(a arch.Addr, size int, _ uint64) bool {
	if al := t.f.m.mem.aliasOf(a, size); al != nil {
		if o := object(objChunk, bytesNumber(al.text(a))); t.touch.Object == 0 || t.touch.Object == o {
			t.touch = sim.Touch{Object: o, Write: true}
		}
		return false
	}
	if o := object(objWord, bytesNumber(a)); (t.touch.Object == 0 || t.touch.Object == o) &&
		t.f.words.shared(bytesNumber(a)) {
		t.touch = sim.Touch{Object: o, Write: true}
	}
	return false
}

// System returns the trial's copy of the CPU's system state.
func (t *trial) System() system { return t.system }
