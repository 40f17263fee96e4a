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

// System returns the system state of the CPU that executes: there is a clock in it,
// and what decides how the CPU goes on.
func (w *watchedMemory) System() *system {
	w.f.asked = true
	return w.f.m.mem.System()
}

// access takes an access to data by the step under way.
func (f *Footprint) access(a arch.Addr, size int, write bool) {
	c := f.cpu()
	if c == nil {
		return
	}
	if f.m.mem.near(a) == nil {
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

// looksBelow takes that a CPU reads what may be below its stack pointer.
func (f *Footprint) looksBelow(c *CPU, a arch.Addr) {
	if t := c.task; !f.readsBelow && c.guest && a < spOf(&c.regs) && a >= t.stack-StackSize {
		f.readsBelow, f.grew, f.words.learnt = true, true, true
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

// askedResched takes that a routine asks whether another task wants its CPU. While none
// does, in any run, that is no part of a state.
func (f *Footprint) askedResched() {
	if !f.asksResched {
		f.asksResched, f.grew, f.words.learnt = true, true, true
	}
}

// level returns how many interrupts are open on the task, and below which
// address its stack is the innermost one's. size is that of a frame.
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

// A stackUse is which eight aligned bytes of a task's stack were stored to since the
// stack pointer was above them last, as far as an observed machine has seen.
type stackUse struct {
	written [StackSize / 8 / 64]uint64
	low     arch.Addr // nothing below counts as written
}

// inUse is of the highest bytes of a stack, above which no call of text begins.
const inUse = 64

// begin says that all from sp up counts as written.
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

// pointer says that the stack pointer stands at sp after a step.
func (u *stackUse) pointer(t *Task, sp arch.Addr) {
	for ; u.low < sp && u.low < t.stack; u.low += 8 {
		n := (u.low - (t.stack - StackSize)) / 8
		u.written[n/64] &^= 1 << (n % 64)
	}
}

// access takes an access to the task's own stack, and reports whether it reads
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

// onStack takes an access to data by the step of c.
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

// frame says that a trap has written its frame on a stack.
func (f *Footprint) frame(t *Task, base arch.Addr, size int) {
	for at := base; at < base+arch.Addr(size); at += 8 {
		if at >= t.stack-StackSize && at < t.stack {
			t.use.access(t, at, true)
		}
	}
}

// ReadsUninit reports whether text has ever read bytes of its own stack that it
// hadn't written, in a run that was observed.
func (f *Footprint) ReadsUninit() bool { return f.readsUninit }

// A trial executes an instruction without effect, to find out which shared memory its
// next execution touches first. It implements arch.Memory: what is stored isn't there,
// so that the instruction gives up.
type trial struct {
	f      *Footprint
	cpu    *CPU
	regs   arch.Regs // of its own
	system system    // likewise
	touch  sim.Touch
}

// of returns the first touch of a CPU's next instruction: of the words that are known to
// be shared. An instruction that reads and then writes one writes it.
func (t *trial) of(c *CPU) sim.Touch {
	in := c.known()
	if in == nil {
		return sim.Touch{}
	}
	t.cpu, t.regs, t.system, t.touch = c, c.regs, c.sys, sim.Touch{}
	in.Exec(&t.regs, t)
	return t.touch
}

// Load implements arch.Memory.
func (t *trial) Load(a arch.Addr, size int) (uint64, bool) {
	fault := t.f.m.mem.fault
	v, ok := t.f.m.mem.Load(a, size)
	t.f.m.mem.fault = fault
	if ok && t.touch.Object == 0 && t.f.words.shared(bytesNumber(a)) {
		t.touch.Object = object(objWord, bytesNumber(a))
	}
	return v, ok
}

// Store implements arch.Memory.
func (t *trial) Store(a arch.Addr, _ int, _ uint64) bool {
	if o := object(objWord, bytesNumber(a)); (t.touch.Object == 0 || t.touch.Object == o) && t.f.words.shared(bytesNumber(a)) {
		t.touch = sim.Touch{Object: o, Write: true}
	}
	return false
}

// System says what the CPU's is, to be changed by the trial only.
func (t *trial) System() *system { return &t.system }
