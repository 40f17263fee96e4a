package smp

import "kpsim/smp/arch"

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

// ReadsUninit reports whether text has ever read bytes of its own stack that it
// hadn't written, in a run that was observed.
func (f *Footprint) ReadsUninit() bool { return f.readsUninit }
