package smp

import (
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
	if t := c.task; !write && !f.readsBelow && c.guest && a < spOf(&c.regs) && a >= t.stack-StackSize {
		f.readsBelow, f.grew = true, true
	}
	f.onStack(c, a, size, write)
	f.accessWord(c, a, write)
	if last := a + arch.Addr(size-1); bytesNumber(last) != bytesNumber(a) {
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
	} else if own || f.m.isStack(a) {
		if f.words.share(n) {
			f.grew = true
		}
		f.words.stacks = true
		f.add(object(objWord, n), write)
		f.read(object(objWord, n))
		return
	}
	if p := f.m.mem.page(a); p != nil && p.code != nil {
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
		f.read(object(objWord, n))
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

// isStack reports whether an address lies in the stack of any task.
func (m *Machine) isStack(a arch.Addr) bool {
	return a >= m.at.stack && a < m.at.stack+arch.Addr(m.nStacks)*(StackSize+pageSize)
}
