package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A gate is a kernel routine with an address: guest text calls it like any function. The
// last place of the gate page is the return address of calls made by routines.
type gate struct {
	name   string
	f      kapi.Routine
	closed bool // set at boot: an arrival faults
}

const (
	gateSize = kapi.GateSize
	maxGates = pageSize/gateSize - 1
)

// Gates are the addresses of kernel routines.
type Gates struct {
	m          *Machine
	page       arch.Addr // the address of the first of bound
	guestPages arch.Addr // the address of the first of guests
	bound      []gate
	late       []gate // from the end of the gate page down
	guests     []gate // see BindGuest
}

// Gates returns the addresses of kernel routines.
func (m *Machine) Gates() *Gates { return &m.gates }

func (gs *Gates) init(m *Machine) {
	gs.m, gs.page, gs.guestPages = m, m.arch.Addr(GateBase), kapi.GatesOf(m.arch)
	m.mem.mapCode(gs.page, PermRead|PermExec).gate = true
}

// returnGate returns the address to which a call made by a routine returns.
func (gs *Gates) returnGate() arch.Addr { return gs.page + maxGates*gateSize }

// idleIP returns the value of the instruction pointer while a kernel routine, which has no
// address, runs on the CPU.
func (gs *Gates) idleIP() arch.Addr { return gs.page + 0x100000 }

// Bind gives f the next address of the gate page.
func (gs *Gates) Bind(name string, f kapi.Routine) arch.Addr {
	if len(gs.bound)+len(gs.late) >= maxGates {
		sim.Bug("more than %d bound routines", maxGates)
	}
	gs.bound = append(gs.bound, gate{name: name, f: f})
	return gs.page + arch.Addr(len(gs.bound)-1)*gateSize
}

// BindGuest gives f the next address from kapi.GatesOf on. These gates
// have pages of their own, so the address doesn't depend on what else is bound. It is called
// before Freeze.
func (gs *Gates) BindGuest(name string, f kapi.Routine) arch.Addr {
	at := gs.guestPages + arch.Addr(len(gs.guests))*gateSize
	if at%pageSize == 0 {
		gs.m.mem.mapCode(at, PermRead|PermExec).gate = true
	}
	gs.guests = append(gs.guests, gate{name: name, f: f})
	return at
}

// LateGate returns the i-th address from the end of the gate page down.
func LateGate(i int) arch.Addr { return GateBase + arch.Addr(maxGates-1-i)*gateSize }

// BindLate gives f the next address from the end of the gate page down.
func (gs *Gates) BindLate(name string, f kapi.Routine) {
	gs.late = append(gs.late, gate{name: name, f: f})
}

// find returns the routine at a, nil if none begins there.
func (gs *Gates) find(a arch.Addr) *gate {
	i := int(a-gs.page) / gateSize
	if n := int(a-gs.guestPages) / gateSize; a >= gs.guestPages && n < len(gs.guests) {
		if a%gateSize != 0 {
			return nil
		}
		return &gs.guests[n]
	}
	switch late := maxGates - 1 - i; {
	case a%gateSize != 0:
	case i < len(gs.bound):
		return &gs.bound[i]
	case late >= 0 && late < len(gs.late):
		return &gs.late[late]
	}
	return nil
}

// Close makes, at boot, an arrival at the address a page fault, where no text is to reach it: patched text that leads
// anywhere may lead there.
func (gs *Gates) Close(at arch.Addr) {
	if g := gs.find(at); g != nil {
		g.closed = true
	}
}

// Rebind gives the address another routine, because an engine is built anew each run.
func (gs *Gates) Rebind(at arch.Addr, f kapi.Routine) {
	gs.bound[int(at-gs.page)/gateSize].f = f
}

// enter is called when guest text has reached the gate page.
func (gs *Gates) enter(c *CPU, ip arch.Addr) {
	m := gs.m
	t := c.task
	if ip == gs.returnGate() {
		gs.returned(c, t)
		return
	}
	g := gs.find(ip)
	if g == nil {
		m.ending.garbled(c, ip, nil, "no routine begins here")
		return
	}
	if g.closed {
		m.traps.pageFault(c, ip, ip)
		return
	}
	x := m.routines.acquire(c, t)
	x.gate, x.vector, x.was, x.guest = g.f, 0, x.Balance(), ip >= gs.guestPages &&
		ip < gs.guestPages+arch.Addr(len(gs.guests))*gateSize
	x.place, x.step = g.name, 0
	x.read.Add(uint64(ip-gs.page)/gateSize + 1)
	t.frames = append(t.frames, frame{kind: routine, ctx: x, user: c.user, base: ip})
	c.guest, c.user = false, false
}

// leave returns from a routine that text called at entry, as ret would. Where a call pushes nothing, a routine may
// set IP instead: no register that text may use then holds the address.
func (gs *Gates) leave(c *CPU, entry arch.Addr) {
	m := gs.m
	if m.arch.Pushed == 0 && c.regs.IP != entry {
		c.guest = true
		return
	}
	m.mem.cpu = c.id
	to, ok := m.arch.Caller(m.mem.data, &c.regs)
	if !ok {
		m.ending.garbled(c, m.arch.StackPointer(&c.regs), nil, "no return address on the stack")
		return
	}
	c.regs.R[m.arch.SP] += uint64(m.arch.Pushed)
	c.regs.IP = to
	c.guest = true
}

// returned is called when a call made by a routine has come back.
func (gs *Gates) returned(c *CPU, t *Task) {
	f := t.top()
	if f == nil || f.kind != guest {
		sim.Bug("cpu%d: text returned to a routine that didn't call it", c.id)
	}
	t.pop()
	c.guest = t.onGuest()
}
