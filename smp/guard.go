package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The part of a stack below its task's stack pointer is dead: it belongs to calls that have
// returned. Compiled text may have kept a pointer into it by mistake.

// GuardStacks makes an instruction's access to another task's dead stack a page fault. It
// is called before Freeze.
func (m *Memory) GuardStacks() { m.guards = true }

// DeadStack returns the task whose dead stack contains an address. ok is false for the stack
// of the task that runs on the CPU.
func (x *Stacks) DeadStack(a arch.Addr) (of kapi.TaskID, ok bool) {
	if !x.m.tasks.deadStack(x.cpu, a) {
		return 0, false
	}
	return x.m.tasks.stackOf(a).ID, true
}

// A guardedMemory is memory as instructions access it on a machine with guards.
type guardedMemory struct{ *Memory }

// Load implements arch.Memory.
func (g *guardedMemory) Load(a arch.Addr, size int) (uint64, bool) {
	if g.m.tasks.deadStack(&g.m.cpus.list[g.cpu], a) {
		g.fault = a
		return 0, false
	}
	return g.Memory.Load(a, size)
}

// Store implements arch.Memory.
func (g *guardedMemory) Store(a arch.Addr, size int, v uint64) bool {
	if g.m.tasks.deadStack(&g.m.cpus.list[g.cpu], a) {
		g.fault = a
		return false
	}
	return g.Memory.Store(a, size, v)
}

// A guardedWatch is guardedMemory for an observed machine.
type guardedWatch struct{ watchedMemory }

// Load implements arch.Memory.
func (g *guardedWatch) Load(a arch.Addr, size int) (uint64, bool) {
	if m := g.f.m; m.tasks.deadStack(&m.cpus.list[m.mem.cpu], a) {
		m.mem.fault = a
		return 0, false
	}
	return g.watchedMemory.Load(a, size)
}

// Store implements arch.Memory.
func (g *guardedWatch) Store(a arch.Addr, size int, v uint64) bool {
	if m := g.f.m; m.tasks.deadStack(&m.cpus.list[m.mem.cpu], a) {
		m.mem.fault = a
		return false
	}
	return g.watchedMemory.Store(a, size, v)
}

// deadStack reports whether an address lies in the dead part of the stack of a task that
// doesn't run on c.
func (ts *Tasks) deadStack(c *CPU, a arch.Addr) bool {
	if c.task.stack-a <= StackSize || !ts.isStack(a) {
		return false
	}
	t := ts.stackOf(a)
	return a >= t.stack-StackSize && a < t.stack && a < ts.pointer(t)
}

// pointer returns a task's stack pointer.
func (ts *Tasks) pointer(t *Task) arch.Addr {
	if t.cpu.task == t {
		return ts.m.arch.StackPointer(&t.cpu.regs)
	}
	return ts.m.arch.StackPointer(&t.regs)
}
