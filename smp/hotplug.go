package smp

import "kpsim/smp/smpev"

// A CPU comes and goes by these. One that is off is in its idle loop with interrupts off,
// and takes no NMI: it has no step to make, and nothing looks for it. Which CPUs others
// may count on is the kernel's to know (kernel.Hotplug).

// AddPerCPU adds a kernel thread that no CPU's going moves: it waits until its CPU is back.
func (m *Machine) AddPerCPU(name string, cpu int, body func(*Ctx)) *Task {
	t := m.AddThread(name, cpu, body)
	t.bound = true
	return t
}

// TakeDown takes the routine's CPU out of those that tasks may run on: what waits for it
// goes to another one. A task that sleeps does so when it is woken.
func (x *Ctx) TakeDown() {
	m, c := x.m, x.cpu
	m.touchQueue(c, true)
	c.off = true
	c.ipi &^= IPIResched // those who were to run have gone
	kept := c.runq[:0]
	for _, t := range c.runq {
		if t.class == classStopper || t.bound {
			kept = append(kept, t)
			continue
		}
		m.fallback(t)
		m.bringQueue(c, t.cpu)
		t.woken = m.time.Now()
		t.cpu.enqueue(m, t)
		m.attend(t.cpu)
	}
	c.runq = kept
	m.attend(c)
}

// PlayDead ends the life of a CPU that has gone, in its idle loop.
func (m *Machine) PlayDead(cpu int) {
	c := &m.cpus[cpu]
	m.touch(objIdle, uint64(cpu), true)
	c.regs.Flags &^= irqFlag
	c.nmiBlocked = true
	m.log.Emit(smpev.CPUState, c.id, uint8(c.task.ID), uint64(cpu), 0, 0)
	m.attend(c)
}

// PowerOn begins it again. A processor that comes out of reset has fetched nothing.
func (m *Machine) PowerOn(cpu int, serialises bool) {
	c := &m.cpus[cpu]
	m.touch(objIdle, uint64(cpu), true)
	c.regs.Flags |= irqFlag
	c.nmiBlocked = false
	if serialises {
		m.text.Serialise(cpu)
		m.touchFloor(c)
	}
	m.attend(c)
}

// Online lets tasks run on the routine's CPU again.
func (x *Ctx) Online() {
	x.m.touchQueue(x.cpu, true)
	x.cpu.off = false
	x.Emit(smpev.CPUState, uint64(x.cpu.id), 1, 0)
}

// IsOff reports whether a CPU has gone.
func (m *Machine) IsOff(cpu int) bool { return m.cpus[cpu].off }

// CallPending takes the call that a CPU was sent and has not answered.
func (x *Ctx) CallPending() bool {
	x.m.touch(objIPI, uint64(x.cpu.id), true)
	was := x.cpu.ipi & IPICall
	x.cpu.ipi &^= IPICall
	x.m.attend(x.cpu)
	return was != 0
}

// fallback gives a task whose CPU has gone the first one that hasn't (select_fallback_rq).
// It stays there.
func (m *Machine) fallback(t *Task) {
	for i := range m.cpus {
		if c := &m.cpus[i]; !c.off {
			m.touchQueue(c, true)
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
