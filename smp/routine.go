package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// acquire returns a context for a routine on top of t.
func (m *Machine) acquire(c *CPU, t *Task) *Ctx {
	var x *Ctx
	if n := len(m.free); n > 0 {
		x = m.free[n-1]
		m.free = m.free[:n-1]
	} else {
		x = &Ctx{m: m}
	}
	x.cpu, x.task, x.started, x.driving, x.prompt, x.cond = c, t, false, false, false, nil
	x.trap, x.gate, x.body, x.source, x.exits = nil, nil, nil, nil, false
	x.said, x.ahead = asSaid{}, sim.Touch{}                                  // of a routine that was unwound at a yield point
	x.read, x.looking, x.knowsCPU = sim.Hash{Hi: uint64(t.ID)}, false, false // it knows on whose behalf it runs
	m.live = append(m.live, x)
	return x
}

// release gives a context back. Its fibre has ended.
func (m *Machine) release(x *Ctx) { m.free = append(m.free, x) }

// drop takes an ended context out of the living and releases it.
func (m *Machine) drop(x *Ctx) {
	if m.foot != nil && m.foot.by == x {
		m.foot.by = nil
	}
	for i := len(m.live) - 1; i >= 0; i-- {
		if m.live[i] == x {
			m.live[i] = m.live[len(m.live)-1]
			m.live = m.live[:len(m.live)-1]
			break
		}
	}
	m.release(x)
}

// runPromptly runs a handler that has no yield point in one step: it needs no fibre.
func (m *Machine) runPromptly(x *Ctx) {
	x.trap(x, &x.regs)
	m.finish(x)
}

// start begins the routine; it returns when it has parked or ended. by drives the
// machine, nil is Run: a routine of the same task can't go on before this one has
// ended, so that this one runs on its fibre, as a call.
func (x *Ctx) start(by *Ctx) {
	x.started = true
	if by != nil && by.task == x.task {
		x.host = by.host
		x.Run()
		x.m.finish(x)
		return
	}
	x.host = x
	if x.fibre == nil {
		x.fibre = x.m.pool.Get()
	}
	if x.fibre.Start(x) {
		x.m.finish(x)
	}
}

// resume goes on with a parked routine, and with those that it has been called on top
// of.
func (x *Ctx) resume() {
	h := x.host // x itself may be another routine's by then
	switch {
	case !h.fibre.Parked(): // a panic goes through x, and what is deferred below has reached a yield point
		x.m.finish(x)
	case h.fibre.Resume():
		h.m.finish(h)
	}
}

// Run implements sim.Body.
func (x *Ctx) Run() {
	if x.m.weak.dropped != kapi.Once {
		defer x.crashes()
	}
	switch {
	case x.body != nil:
		x.runBody()
	case x.gate != nil:
		x.gate(x, &x.cpu.regs)
	case x.trap != nil:
		x.trap(x, &x.regs)
	default:
		x.oops()
	}
}

// crashes ends the run where a routine that lacks a barrier has read what isn't there any
// more, and trips over it in Go: an index, a nil pointer. The kernel dies of a wild one.
func (x *Ctx) crashes() {
	switch p := recover().(type) {
	case nil:
	case interface { // runtime.Error
		error
		RuntimeError()
	}:
		x.Bug("without a barrier a routine follows what isn't there: " + p.Error())
	default:
		panic(p)
	}
}

// runBody runs a task's body, and what a program does at its end.
func (x *Ctx) runBody() {
	x.runToExit()
	x.drainStores()
	if x.task.class == classProgram && x.m.hooks.Exiting != nil {
		x.m.hooks.Exiting(x)
		x.drainStores()
	}
}

// exited unwinds a body whose text has called Exit.
type exited struct{}

// runToExit runs the body to its end, or until its text calls Exit. What a
// reset unwinds it by goes on.
func (x *Ctx) runToExit() {
	defer func() {
		if x.task.exiting {
			x.task.exiting = false
			if p := recover(); p != any(exited{}) {
				panic(p)
			}
		}
	}()
	x.body(x)
}

// Exit, in a routine that text of a program has called, ends the program: neither
// that text nor the body is gone on with when the routine returns.
func (x *Ctx) Exit() {
	t := x.task
	if n := len(t.frames); t.class != classProgram || x.gate == nil || n != 3 || t.frames[1].kind != guest {
		x.m.refuseAt(x.cpu, x.m.idleIP(), "do_exit: it isn't called by what a program runs by itself")
		return
	}
	x.exits = true
}

// oops is the routine of a vector that has none: the kernel dies.
func (x *Ctx) oops() {
	addr := uint64(0)
	if x.vector == smpev.VecPF {
		addr = x.cpu.sys.CR2
	}
	x.Emit(smpev.Oops, uint64(x.vector), uint64(x.regs.IP), addr)
	x.m.refuseAt(x.cpu, x.regs.IP, vectorName(x.vector)+": nobody handles it")
}

// Oops says that no handler took the trap: the run ends.
func (x *Ctx) Oops() { x.oops() }

// Bug is a ud2 of the kernel's own: the run ends.
func (x *Ctx) Bug(why string) {
	ip := x.cpu.regs.IP // of a routine that text has called
	if x.vector != 0 {
		ip = x.regs.IP
	}
	x.Emit(smpev.Oops, smpev.VecUD, uint64(ip), 0)
	x.m.refuseAt(x.cpu, ip, why+": BUG()")
}

// finish takes down the frame of a routine that has ended. The CPU can move as
// before, so that nothing has to be looked at again.
func (m *Machine) finish(x *Ctx) {
	c, t := x.cpu, x.task
	f := t.top()
	if f == nil || f.ctx != x {
		sim.Bug("cpu%d: %s ended below the top of the stack of frames", c.id, x.place)
	}
	if f.trap {
		x.was.Open = x.Open() // those of what was interrupted are in its frame
		x.Even(x.was)
		layout := m.frameOf(f.user)
		if m.weak.holds {
			m.flushOver(c, f.base, layout.Size)
		}
		if !m.storeFrame(c, layout, f.base, &x.regs) {
			m.garbled(c, f.base, nil, "the trap frame is not mapped")
		}
		f.kind, f.ctx = iret, nil
		m.drop(x)
		return
	}
	t.pop()
	switch {
	case x.exits: // its text's frame goes too: Call unwinds the body
		t.pop()
		t.exiting, c.guest = true, false
	case x.gate != nil:
		if !x.guest { // else it may be what turns preemption or interrupts on and off for a kernel's own code
			x.Even(x.was)
		}
		m.leaveGate(c)
	default:
		m.bodyEnded(c, t)
	}
	m.drop(x)
}

// Call implements kapi.Context.
func (x *Ctx) Call(f arch.Addr) uint64 {
	m, c, t := x.m, x.cpu, x.task
	was := c.regs
	word := uint64(m.arch.Word)
	sp := was.R[regSP]&^15 - word
	x.m.mem.cpu = c.id
	if !x.m.data.Store(arch.Addr(sp), m.arch.Word, uint64(m.returnGate())) {
		x.m.garbled(c, f, nil, "no stack to call it on")
		x.giveWay(sim.NoMover)
	}
	c.regs.R[regSP], c.regs.IP = sp, f
	c.guest = true
	t.frames = append(t.frames, frame{kind: guest, sp: sp})
	x.giveWay(m.turn()) // the CPU can move as before
	c = x.cpu           // the CPU may have gone offline, and the task elsewhere
	left := c.regs
	if t.exiting && x.body != nil { // not an interrupt's handler that comes before the body is gone on with
		c.regs.R[regSP], c.regs.IP = was.R[regSP], was.IP
		panic(exited{})
	}
	c.regs.R[regSP], c.regs.IP = was.R[regSP], was.IP
	t.left = left
	t.left.R[regSP] -= sp + word // what the call left the stack pointer off by
	return left.R[m.arch.Result]
}

// Left returns the registers as the task's last call left them; RSP is how far
// off its proper value.
func (t *Task) Left() *arch.Regs { return &t.left }

// A gate is a kernel routine with an address: guest text calls it like any
// function. The last place of the gate page is where a call made by a routine
// returns to.
type gate struct {
	name string
	f    kapi.Routine
}

const (
	gateSize = kapi.GateSize
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

// BindGuest gives f the next address from kapi.GuestGates on (arch.Arch.Addr): pages of their own, so that
// it is the same whatever else is bound. It is called before Freeze.
func (m *Machine) BindGuest(name string, f kapi.Routine) arch.Addr {
	at := m.at.guests + arch.Addr(len(m.guests))*gateSize
	if at%pageSize == 0 {
		m.mem.mapCode(at, PermRead|PermExec).gate = true
	}
	m.guests = append(m.guests, gate{name, f})
	return at
}

// LateGate returns the i-th address from the end of the gate page down.
func LateGate(i int) arch.Addr { return GateBase + arch.Addr(maxGates-1-i)*gateSize }

// BindLate gives f the next address from the end of the gate page down.
func (m *Machine) BindLate(name string, f kapi.Routine) { m.lates = append(m.lates, gate{name, f}) }

// gate returns the routine at a, nil if none begins there.
func (m *Machine) gate(a arch.Addr) *gate {
	i := int(a-m.at.gate) / gateSize
	if n := int(a-m.at.guests) / gateSize; a >= m.at.guests && n < len(m.guests) {
		if a%gateSize != 0 {
			return nil
		}
		return &m.guests[n]
	}
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

// enter is called when guest text has reached the gate page.
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
	x.gate, x.vector, x.was, x.guest = g.f, 0, x.Balance(), ip >= m.at.guests && ip < m.at.guests+arch.Addr(len(m.guests))*gateSize
	x.place, x.step = g.name, 0
	x.read.Add(uint64(ip-m.at.gate)/gateSize + 1)
	t.frames = append(t.frames, frame{kind: routine, ctx: x})
	c.guest = false
}

// leaveGate returns from a routine that text called, as ret would.
func (m *Machine) leaveGate(c *CPU) {
	m.mem.cpu = c.id
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
