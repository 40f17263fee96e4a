package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A gate is a kernel routine with an address: guest text calls it like any
// function. The last place of the gate page is where a call made by a routine
// returns to.
type gate struct {
	name string
	f    kapi.Routine
}

const (
	gateSize = 16
	maxGates = pageSize/gateSize - 1
)

// returnGate is where a call made by a routine returns to.
func (m *Machine) returnGate() arch.Addr { return m.at.gate + maxGates*gateSize }

// idleIP is where the instruction pointer stands while a kernel routine, which
// has no address, is on the CPU.
func (m *Machine) idleIP() arch.Addr { return m.at.gate + 0x100000 }

// Bind gives f the next address of the gate page.
func (m *Machine) Bind(name string, f kapi.Routine) arch.Addr {
	if len(m.gates)+len(m.lates) >= maxGates {
		sim.Bug("more than %d bound routines", maxGates)
	}
	m.gates = append(m.gates, gate{name, f})
	return m.at.gate + arch.Addr(len(m.gates)-1)*gateSize
}

// LateGate returns the i-th address from the end of the gate page down.
func LateGate(i int) arch.Addr { return GateBase + arch.Addr(maxGates-1-i)*gateSize }

// BindLate gives f the next address from the end of the gate page down.
func (m *Machine) BindLate(name string, f kapi.Routine) { m.lates = append(m.lates, gate{name, f}) }

// gate returns the routine at a, nil if none begins there.
func (m *Machine) gate(a arch.Addr) *gate {
	i := int(a-m.at.gate) / gateSize
	switch late := maxGates - 1 - i; {
	case a%gateSize != 0:
	case i < len(m.gates):
		return &m.gates[i]
	case late >= 0 && late < len(m.lates):
		return &m.lates[late]
	}
	return nil
}

// Rebind gives the address another routine: an engine is built anew each run.
func (m *Machine) Rebind(at arch.Addr, f kapi.Routine) {
	m.gates[int(at-m.at.gate)/gateSize].f = f
}

// enter is called when guest text has come to the gate page.
func (m *Machine) enter(c *CPU, ip arch.Addr) {
	t := c.task
	if ip == m.returnGate() {
		m.returned(c, t)
		return
	}
	g := m.gate(ip)
	if g == nil {
		m.garbled(c, ip, nil, "no routine begins here")
		return
	}
	x := m.acquire(c, t)
	x.gate, x.vector = g.f, 0
	x.place, x.step = g.name, 0
	x.read.Add(uint64(ip-m.at.gate)/gateSize + 1)
	t.frames = append(t.frames, frame{kind: routine, ctx: x})
	c.guest = false
}

// leaveGate returns from a routine that text called, as ret would.
func (m *Machine) leaveGate(c *CPU) {
	ra, ok := m.data.Load(spOf(&c.regs), m.arch.Word)
	if !ok {
		m.garbled(c, spOf(&c.regs), nil, "no return address on the stack")
		return
	}
	c.regs.R[regSP] += uint64(m.arch.Word)
	c.regs.IP = arch.Addr(ra)
	c.guest = true
}

// returned is called when a call made by a routine has come back.
func (m *Machine) returned(c *CPU, t *Task) {
	f := t.top()
	if f == nil || f.kind != guest {
		sim.Bug("cpu%d: text returned to a routine that didn't call it", c.id)
	}
	t.pop()
	c.guest = t.onGuest()
}
