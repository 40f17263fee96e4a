package smp

import (
	"fmt"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Tasks are the machine's tasks and their stacks.
type Tasks struct {
	m      *Machine
	all    []*Task // in the order of their IDs
	base   arch.Addr
	stacks int // how many stacks lie from base on
}

// Tasks returns the machine's tasks.
func (m *Machine) Tasks() *Tasks { return &m.tasks }

// init makes the idle task and the stopper of each CPU.
func (ts *Tasks) init(m *Machine) {
	ts.m, ts.base = m, stacksOf(m.arch)
	for i := range m.cpus.list {
		c := &m.cpus.list[i]
		c.id, c.bit, c.code = uint8(i), 1<<i, m.mem.noCode
		c.idle = ts.add(fmt.Sprintf("idle/%d", i), c, classIdle, nil)
	}
	for i := range m.cpus.list {
		c := &m.cpus.list[i]
		c.stopper = ts.add(fmt.Sprintf("stopper/%d", i), c, classStopper, nil)
	}
}

func (ts *Tasks) add(name string, c *CPU, k class, body func(*Ctx)) *Task {
	if len(ts.all) >= int(traces.NoTask) {
		sim.Bug("more than %d tasks", traces.NoTask)
	}
	t := &Task{ID: kapi.TaskID(len(ts.all)), Name: name, cpu: c, home: c, class: k, body: body}
	t.frames = make([]frame, 0, 16)
	base := ts.base + arch.Addr(ts.stacks)*(StackSize+pageSize) // an unmapped page between: overflow faults
	ts.stacks++
	for a := base; a < base+StackSize; a += pageSize {
		ts.m.mem.mapPage(a, PermRead|PermWrite)
	}
	t.stack = base + StackSize
	ts.rewind(t)
	ts.all = append(ts.all, t)
	return t
}

// AddProgram adds a task that is runnable from the start and ends when its
// body returns.
func (ts *Tasks) AddProgram(name string, cpu int, body func(*Ctx)) *Task {
	t := ts.add(name, &ts.m.cpus.list[cpu], classProgram, body)
	t.boot = true
	return t
}

// AddThread adds a kernel thread: dormant until woken, and again when its body
// has returned.
func (ts *Tasks) AddThread(name string, cpu int, body func(*Ctx)) *Task {
	return ts.add(name, &ts.m.cpus.list[cpu], classThread, body)
}

// SetStopper gives the stopper of a CPU its body.
func (ts *Tasks) SetStopper(cpu int, body func(*Ctx)) *Task {
	t := ts.m.cpus.list[cpu].stopper
	t.body = body
	return t
}

// All returns all tasks, in the order of their IDs.
func (ts *Tasks) All() []*Task { return ts.all }

// Stopper returns the stopper task of a CPU.
func (ts *Tasks) Stopper(cpu int) *Task { return ts.m.cpus.list[cpu].stopper }

// Idle returns the idle task of a CPU.
func (ts *Tasks) Idle(cpu int) *Task { return ts.m.cpus.list[cpu].idle }

// rewind puts a task back to its state before a run.
func (ts *Tasks) rewind(t *Task) {
	t.frames, t.state, t.preempt, t.again, t.woken = t.frames[:0], dormant, 0, false, 0
	t.exiting, t.cpu = false, t.home
	t.switches, t.system = 0, arch.TaskState{}
	t.regs = arch.Regs{IP: ts.m.gates.idleIP(), Flags: ts.m.arch.FixedFlag | arch.IRQ}
	t.regs.R[ts.m.arch.SP] = kernelSP(t)
	if f := ts.m.hooks.TaskRegs; f != nil {
		f(t.ID, &t.regs, &t.system)
	}
}

// AddPerCPU adds a kernel thread that never leaves its CPU: while that is offline, it waits.
func (ts *Tasks) AddPerCPU(name string, cpu int, body func(*Ctx)) *Task {
	t := ts.AddThread(name, cpu, body)
	t.bound = true
	return t
}

// AddWorker adds a thread that stays on its CPU until the CPU unbinds its workers (Unbind).
func (ts *Tasks) AddWorker(name string, cpu int, body func(*Ctx)) *Task {
	t := ts.AddThread(name, cpu, body)
	t.worker = true
	return t
}

// Place moves a dormant thread to another CPU, on which it will be woken.
func (ts *Tasks) Place(t *Task, cpu int) {
	if t.state == dormant {
		t.cpu = &ts.m.cpus.list[cpu]
	}
}

// isStack reports whether an address lies in the stack of any task.
func (ts *Tasks) isStack(a arch.Addr) bool {
	return a >= ts.base && a < ts.base+arch.Addr(ts.stacks)*(StackSize+pageSize)
}

// stackOf returns the task whose stack, or the page before it, contains an address.
func (ts *Tasks) stackOf(a arch.Addr) *Task {
	return ts.all[int(a-ts.base)/(StackSize+pageSize)]
}
