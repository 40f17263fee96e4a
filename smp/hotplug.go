package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// The functions below take a CPU offline and online. An inactive CPU is online, but no task
// is placed on it. A CPU that is off takes no interrupt and no NMI, also on its way off and
// back; nothing is sent to it. Once off it stays in its idle loop and makes no step. The set
// of CPUs that code may rely on is kept by the kernel (kernel.Hotplug).

// hotplugged is the part of a CPU's hotplug state that the machine uses.
type hotplugged struct {
	off    bool // the CPU is off: no task runs there
	pushes bool // the CPU is inactive: tasks leave it when it schedules, and none is placed there
	lonely bool // workers of the CPU's pool are no longer bound to it
}

// stays reports whether a task stays on a CPU that isn't active (is_cpu_allowed).
func (t *Task) stays(c *CPU) bool {
	return t.class == classStopper || t.class == classIdle || t.bound || t.worker && !c.hot.lonely
}

// Hotplug is a context whose routine takes its CPU offline or online.
type Hotplug Ctx

// Hotplug returns the context for taking its CPU offline or online.
func (x *Ctx) Hotplug() *Hotplug { return (*Hotplug)(x) }

// Deactivate makes the routine's CPU inactive. With pushes set, no task is placed on it any
// more, and its tasks leave when it schedules (set_cpu_active, balance_push_set). Otherwise
// its tasks leave when it is taken down.
func (x *Hotplug) Deactivate(pushes bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.cpu.hot.pushes = pushes
	x.m.emit(x.cpu, smpev.CPUActive, uint64(x.cpu.id), 0, 0)
}

// Unbind lets the workers of the CPU's pool run elsewhere; with so false it binds them again.
func (x *Hotplug) Unbind(so bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.cpu.hot.lonely = so
}

// Crowded reports whether a task that must leave the CPU is still waiting for it.
func (x *Hotplug) Crowded() bool {
	x.m.foot.touchQueue(x.cpu, false)
	for _, t := range x.cpu.runq {
		if !t.stays(x.cpu) {
			x.m.foot.knows((*Ctx)(x), 9)
			return true
		}
	}
	x.m.foot.knows((*Ctx)(x), 8)
	return false
}

// push moves a task that has just lost, or given up, a CPU that isn't active.
func (ts *Tasks) push(c *CPU, t *Task) {
	m := ts.m
	ts.fallback(t)
	m.time.bringQueue(c, t.cpu)
	t.woken = m.time.Now()
	t.cpu.enqueue(m, t)
	m.turns.attend(t.cpu)
}

// TakeDown takes the routine's CPU, which is inactive, out of use. Tasks that it hasn't
// pushed move to the first active CPU, in their current state (migrate_tasks). If a task is
// left otherwise, the run ends (sched_cpu_dying: the kernel warns, and the task never runs again).
func (x *Hotplug) TakeDown() {
	m, c := x.m, x.cpu
	m.foot.touchQueue(c, true)
	if !c.hot.pushes {
		c.hot.pushes = true
		m.tasks.migrate(c)
	}
	for _, t := range c.runq {
		if !t.stays(c) {
			(*Ctx)(x).Bug("Dying CPU not properly vacated: " + t.Name + " is left")
			return
		}
	}
	m.foot.touch(objBoundary, uint64(c.id), true)
	c.hot.off = true
	c.ipi &^= IPIResched // the tasks that it was sent for have left
	m.turns.attend(c)
}

// migrate moves the tasks that wait for a CPU, in their order.
func (ts *Tasks) migrate(c *CPU) {
	kept := 0
	for i := range c.runq {
		if t := c.runq[i]; t.stays(c) {
			c.runq[kept] = t
			kept++
		} else {
			ts.push(c, t)
		}
	}
	c.runq = c.runq[:kept]
}

// PlayDead turns off interrupts and NMIs on a CPU that has gone and is in its idle loop.
func (ps *Processors) PlayDead(cpu int) {
	m := ps.m
	c := &ps.list[cpu]
	m.foot.touch(objIdle, uint64(cpu), true)
	c.regs.Flags &^= arch.IRQ
	c.nmiBlocked = true
	m.log.Emit(smpev.CPUState, c.id, uint8(c.task.ID), uint64(cpu), 0, 0)
	m.turns.attend(c)
}

// PowerOn brings an off CPU out of reset. A processor that comes out of reset has fetched
// nothing.
func (ps *Processors) PowerOn(cpu int, serialises bool) {
	c := &ps.list[cpu]
	ps.m.foot.touch(objIdle, uint64(cpu), true)
	c.regs.Flags |= arch.IRQ
	c.nmiBlocked = false
	if serialises {
		ps.serialiseStarting(c)
	}
	ps.m.turns.attend(c)
}

// Online puts the routine's CPU back into use: it takes interrupts. With takes set, it also
// runs tasks before it is active.
func (x *Hotplug) Online(takes bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.m.foot.touch(objBoundary, uint64(x.cpu.id), true)
	x.cpu.hot.off, x.cpu.hot.pushes = false, !takes
	x.m.turns.attend(x.cpu)
	x.m.emit(x.cpu, smpev.CPUState, uint64(x.cpu.id), 1, 0)
}

// SerialiseStarting makes the routine's CPU forget what it has fetched since its reset.
func (x *Hotplug) SerialiseStarting() { x.m.cpus.serialiseStarting(x.cpu) }

// serialiseStarting serialises a CPU that is coming up.
func (ps *Processors) serialiseStarting(c *CPU) {
	ps.m.text.model.Serialise(int(c.id))
	ps.m.foot.touchFloor(c)
}

// Activate lets tasks run on the routine's CPU. Programs that have waited for the CPU begin.
func (x *Hotplug) Activate() {
	m, c := x.m, x.cpu
	m.foot.touchQueue(c, true)
	c.hot.pushes = false
	x.m.emit(x.cpu, smpev.CPUActive, uint64(c.id), 1, 0)
	for _, t := range m.tasks.all {
		if t.boot && t.home == c && t.state == dormant {
			m.tasks.Wake(t)
		}
	}
}

// absent sets up a CPU that is off when a run begins.
func (ps *Processors) absent(c *CPU) {
	if ps.m.cfg.Offline>>c.id&1 != 0 {
		c.hot = hotplugged{off: true, pushes: true, lonely: true}
		c.regs.Flags &^= arch.IRQ
		c.nmiBlocked = true
	}
}

// IsOff reports whether a CPU is off.
func (ps *Processors) IsOff(cpu int) bool { return ps.list[cpu].hot.off }

// Absent returns the set of CPUs that are off when a run begins.
func (ps *Processors) Absent() uint64 { return ps.m.cfg.Offline }

// CallPending takes the function-call IPI that is pending on the routine's CPU, and reports
// whether there was one.
func (x *Hotplug) CallPending() bool {
	x.m.foot.touch(objIPI, uint64(x.cpu.id), true)
	was := x.cpu.ipi & IPICall
	x.cpu.ipi &^= IPICall
	x.m.turns.attend(x.cpu)
	return was != 0
}

// fallback moves a task whose CPU is inactive to the first active CPU, for good
// (select_fallback_rq).
func (ts *Tasks) fallback(t *Task) {
	m := ts.m
	for i := range m.cpus.list {
		if c := &m.cpus.list[i]; !c.hot.pushes {
			m.foot.touchQueue(c, true)
			t.cpu = c
			break
		}
	}
	for i := range t.frames {
		if x := t.frames[i].ctx; x != nil {
			x.cpu = t.cpu
		}
	}
}
