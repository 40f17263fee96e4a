package smp

import (
	"kpsim/sim"
	"kpsim/smp/smpev"
)

// A CPU comes and goes by these. One that isn't active is online, and has no task placed on
// it. One that is off takes no interrupt and no NMI, on its way there and back as well: nothing
// is sent to it. When it is there it is in its idle loop: it has no step to make, and nothing
// looks for it. Which CPUs others may count on is the kernel's to
// know (kernel.Hotplug).

// hotplugged is what of a CPU's state of hotplug the machine goes by.
type hotplugged struct {
	off    bool // it has gone: no task runs there
	pushes bool // it isn't active: tasks leave it when it schedules, and none is placed there
	lonely bool // workers of its pool are no longer bound to it
}

// stays reports whether a task stays on a CPU that isn't active (is_cpu_allowed).
func (t *Task) stays(c *CPU) bool {
	return t.class == classStopper || t.class == classIdle || t.bound || t.worker && !c.hot.lonely
}

// Deactivate has, if it pushes, no task placed on the routine's CPU any more, and those that are
// there leave it when it schedules (set_cpu_active, balance_push_set). Else they leave it when it
// is taken down.
func (x *Ctx) Deactivate(pushes bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.cpu.hot.pushes = pushes
	x.Emit(smpev.CPUActive, uint64(x.cpu.id), 0, 0)
}

// Unbind lets the workers of the CPU's pool run elsewhere, or, so false, binds them again.
func (x *Ctx) Unbind(so bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.cpu.hot.lonely = so
}

// Crowded reports whether a task waits for the CPU that is to leave it.
func (x *Ctx) Crowded() bool {
	x.m.foot.touchQueue(x.cpu, false)
	for _, t := range x.cpu.runq {
		if !t.stays(x.cpu) {
			x.knows(9)
			return true
		}
	}
	x.knows(8)
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

// TakeDown takes the routine's CPU, which isn't active, out of those that run anything. Tasks
// that it hasn't pushed go to the first active CPU, as they stand (migrate_tasks).
func (x *Ctx) TakeDown() {
	m, c := x.m, x.cpu
	m.foot.touchQueue(c, true)
	if !c.hot.pushes {
		c.hot.pushes = true
		m.tasks.migrate(c)
	}
	c.hot.off = true
	c.ipi &^= IPIResched // those who were to run have gone
	for _, t := range c.runq {
		if !t.stays(c) {
			sim.Bug("cpu%d is taken down under %s", c.id, t.Name)
		}
	}
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

// PlayDead ends the life of a CPU that has gone, in its idle loop.
func (ps *Processors) PlayDead(cpu int) {
	m := ps.m
	c := &ps.list[cpu]
	m.foot.touch(objIdle, uint64(cpu), true)
	c.regs.Flags &^= irqFlag
	c.nmiBlocked = true
	m.log.Emit(smpev.CPUState, c.id, uint8(c.task.ID), uint64(cpu), 0, 0)
	m.turns.attend(c)
}

// PowerOn begins it again. A processor that comes out of reset has fetched nothing.
func (ps *Processors) PowerOn(cpu int, serialises bool) {
	c := &ps.list[cpu]
	ps.m.foot.touch(objIdle, uint64(cpu), true)
	c.regs.Flags |= irqFlag
	c.nmiBlocked = false
	if serialises {
		ps.serialiseStarting(c)
	}
	ps.m.turns.attend(c)
}

// Online has the routine's CPU be one that runs something, and takes interrupts; tasks, too, if
// it takes them before it is active.
func (x *Ctx) Online(takes bool) {
	x.m.foot.touchQueue(x.cpu, true)
	x.cpu.hot.off, x.cpu.hot.pushes = false, !takes
	x.m.turns.attend(x.cpu)
	x.Emit(smpev.CPUState, uint64(x.cpu.id), 1, 0)
}

// SerialiseStarting has the routine's CPU forget what it has fetched since its reset.
func (x *Ctx) SerialiseStarting() { x.m.cpus.serialiseStarting(x.cpu) }

// serialiseStarting serialises a CPU that comes.
func (ps *Processors) serialiseStarting(c *CPU) {
	ps.m.text.model.Serialise(int(c.id))
	ps.m.foot.touchFloor(c)
}

// Activate lets tasks run on the routine's CPU. Programs that have waited for it begin.
func (x *Ctx) Activate() {
	m, c := x.m, x.cpu
	m.foot.touchQueue(c, true)
	c.hot.pushes = false
	x.Emit(smpev.CPUActive, uint64(c.id), 1, 0)
	for _, t := range m.tasks.all {
		if t.boot && t.home == c && t.state == dormant {
			m.tasks.Wake(t)
		}
	}
}

// absent is a CPU that is off when a run begins.
func (ps *Processors) absent(c *CPU) {
	if ps.m.cfg.Offline>>c.id&1 != 0 {
		c.hot = hotplugged{off: true, pushes: true, lonely: true}
		c.regs.Flags &^= irqFlag
		c.nmiBlocked = true
	}
}

// IsOff reports whether a CPU has gone.
func (ps *Processors) IsOff(cpu int) bool { return ps.list[cpu].hot.off }

// Absent returns the set of CPUs that are off when a run begins.
func (ps *Processors) Absent() uint64 { return ps.m.cfg.Offline }

// CallPending takes the call that a CPU was sent and has not answered.
func (x *Ctx) CallPending() bool {
	x.m.foot.touch(objIPI, uint64(x.cpu.id), true)
	was := x.cpu.ipi & IPICall
	x.cpu.ipi &^= IPICall
	x.m.turns.attend(x.cpu)
	return was != 0
}

// fallback gives a task whose CPU isn't active the first one that is (select_fallback_rq).
// It stays there.
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
