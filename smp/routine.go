package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// routines are the contexts of routines, and the fibres they run on.
type routines struct {
	m     *Machine
	pool  sim.Pool
	free  []*Ctx
	live  []*Ctx
	parks uint64 // fibres parked in this run
}

// acquire returns a context for a routine on top of t.
func (rs *routines) acquire(c *CPU, t *Task) *Ctx {
	var x *Ctx
	if n := len(rs.free); n > 0 {
		x = rs.free[n-1]
		rs.free = rs.free[:n-1]
	} else {
		x = &Ctx{m: rs.m}
	}
	x.cpu, x.task, x.started, x.driving, x.prompt, x.cond = c, t, false, false, false, nil
	x.trap, x.gate, x.body, x.source, x.exits = nil, nil, nil, nil, false
	// A routine that was unwound at a yield point has left these.
	x.said, x.ahead = said{}, sim.Touch{}
	x.read, x.looking, x.knowsCPU = sim.Hash{Hi: uint64(t.ID)}, false, false // it knows its task
	rs.live = append(rs.live, x)
	return x
}

// release gives a context back. Its fibre has ended.
func (rs *routines) release(x *Ctx) { rs.free = append(rs.free, x) }

// drop removes an ended context from the list of living ones and releases it.
func (rs *routines) drop(x *Ctx) {
	m := rs.m
	if m.foot != nil && m.foot.by == x {
		m.foot.by = nil
	}
	for i := len(rs.live) - 1; i >= 0; i-- {
		if rs.live[i] == x {
			rs.live[i] = rs.live[len(rs.live)-1]
			rs.live = rs.live[:len(rs.live)-1]
			break
		}
	}
	rs.release(x)
}

// runPromptly runs a handler that has no yield point in one step: it needs no fibre.
func (rs *routines) runPromptly(x *Ctx) {
	x.trap(x, &x.regs)
	rs.finish(x)
}

// start begins a routine, and returns when it has parked or ended. by drives the machine;
// nil is Run. If by is a routine of the same task, it can't continue before this one has
// ended, so this one runs on by's fibre, as a call.
func (rs *routines) start(x, by *Ctx) {
	x.started = true
	if by != nil && by.task == x.task {
		x.host = by.host
		x.Run()
		rs.finish(x)
		return
	}
	x.host = x
	if x.fibre == nil {
		x.fibre = rs.pool.Get()
	}
	if x.fibre.Start(x) {
		rs.finish(x)
	}
}

// resume continues a parked routine, and then the routines below it on the same fibre.
func (rs *routines) resume(x *Ctx) {
	h := x.host // x itself may be another routine's by then
	switch {
	case !h.fibre.Parked(): // a panic goes through x, and what is deferred below has reached a yield point
		rs.finish(x)
	case h.fibre.Resume():
		rs.finish(h)
	}
}

// park returns control to where a routine was resumed. It returns when the routine is
// resumed again, which means that it is the routine's turn.
func (rs *routines) park(x *Ctx) {
	x.driving = false
	rs.parks++
	x.host.fibre.Park()
}

// Run implements sim.Body.
func (x *Ctx) Run() {
	rs := &x.m.routines
	if x.m.weak.dropped != kapi.Once {
		defer rs.crashes(x)
	}
	switch {
	case x.body != nil:
		rs.runBody(x)
	case x.gate != nil:
		x.gate(x, &x.cpu.regs)
	case x.trap != nil:
		x.trap(x, &x.regs)
	default:
		x.Oops()
	}
}

// crashes ends the run if a routine that lacks a barrier has read stale data and panics in
// Go on an index or a nil pointer. A kernel would die of the wild access.
func (rs *routines) crashes(x *Ctx) {
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
func (rs *routines) runBody(x *Ctx) {
	rs.runToExit(x)
	x.m.weak.drainAll(x)
	if x.task.class == classProgram && x.m.hooks.Exiting != nil {
		x.m.hooks.Exiting(x)
		x.m.weak.drainAll(x)
	}
}

// exited unwinds a body whose text has called Exit.
type exited struct{}

// runToExit runs the body to its end, or until its text calls Exit. The panic by which a
// reset unwinds a routine passes through.
func (rs *routines) runToExit(x *Ctx) {
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

// Exit ends the program whose text has called the routine: when the routine returns,
// neither that text nor the body continues.
func (x *Ctx) Exit() {
	t := x.task
	if n := len(t.frames); t.class != classProgram || x.gate == nil || n != 3 || t.frames[1].kind != guest {
		x.m.ending.refuseAt(x.cpu, x.m.gates.idleIP(), "do_exit: it isn't called by what a program runs by itself")
		return
	}
	x.exits = true
}

// Oops ends the run because no handler took the trap. It is also the routine of a vector that
// has none: the kernel dies.
func (x *Ctx) Oops() {
	addr := uint64(0)
	if x.vector == smpev.VecPF {
		addr = uint64(x.cpu.sys.Fault())
	}
	x.Emit(smpev.Oops, uint64(x.vector), uint64(x.regs.IP), addr)
	x.m.ending.refuseAt(x.cpu, x.regs.IP, vectorName(x.vector)+": nobody handles it")
}

// Bug ends the run as a ud2 in the kernel's own code would.
func (x *Ctx) Bug(why string) {
	ip := x.cpu.regs.IP // of a routine that text has called
	if x.vector != 0 {
		ip = x.regs.IP
	}
	x.Emit(smpev.Oops, smpev.VecUD, uint64(ip), 0)
	x.m.ending.refuseAt(x.cpu, ip, why+": BUG()")
}

// finish removes the frame of a routine that has ended. The CPU's moves don't change, so
// nothing has to be looked at again.
func (rs *routines) finish(x *Ctx) {
	m := rs.m
	c, t := x.cpu, x.task
	f := t.top()
	if f == nil || f.ctx != x {
		sim.Bug("cpu%d: %s ended below the top of the stack of frames", c.id, x.place)
	}
	if f.trap {
		x.was.Open = x.Open() // the interrupted code's flags are in its frame
		x.was.Even(x)
		layout := m.traps.frameOf(f.user)
		if m.weak.holds {
			m.weak.flushOver(c, f.base, layout.Size)
		}
		if !m.traps.storeFrame(c, layout, f.base, &x.regs) {
			m.ending.garbled(c, f.base, nil, "the trap frame is not mapped")
		}
		f.kind, f.ctx = iret, nil
		rs.drop(x)
		return
	}
	user, entry := f.user, f.base
	t.pop()
	switch {
	case x.exits: // the frame of its text goes too: Call unwinds the body
		t.pop()
		t.exiting, c.guest = true, false
	case x.gate != nil:
		if !x.guest { // else the routine may exist to switch preemption or interrupts for a kernel's own code
			x.was.Even(x)
		}
		m.gates.leave(c, entry)
		c.user = user
	default:
		m.tasks.bodyEnded(c, t)
	}
	rs.drop(x)
}

// Call implements kapi.Context.
func (x *Ctx) Call(f arch.Addr) uint64 {
	m, c, t := x.m, x.cpu, x.task
	was := c.regs
	pushed := uint64(m.arch.Pushed)
	sp := was.R[m.arch.SP]&^15 - pushed
	x.m.mem.cpu = c.id
	c.regs.R[m.arch.SP], c.regs.IP = sp, f
	if !m.arch.SetCaller(x.m.mem.data, &c.regs, m.gates.returnGate()) {
		x.m.ending.garbled(c, f, nil, "no stack to call it on")
		x.giveWay(sim.NoMover)
	}
	c.guest = true
	t.frames = append(t.frames, frame{kind: guest, sp: sp})
	x.giveWay(m.turns.turn()) // the CPU can move as before
	c = x.cpu                 // the CPU may have gone offline, and the task moved to another
	left := c.regs
	if t.exiting && x.body != nil { // not an interrupt's handler that runs before the body continues
		c.regs.R[m.arch.SP], c.regs.IP = was.R[m.arch.SP], was.IP
		panic(exited{})
	}
	c.regs.R[m.arch.SP], c.regs.IP = was.R[m.arch.SP], was.IP
	if pushed == 0 { // it may be where text that has called the routine goes on
		c.regs.R[m.arch.Link] = was.R[m.arch.Link]
	}
	t.left = left
	t.left.R[m.arch.SP] -= sp + pushed // what the call left the stack pointer off by
	return left.R[m.arch.Result]
}

// Left returns the registers as the task's last call left them. RSP is the difference from
// its proper value.
func (t *Task) Left() *arch.Regs { return &t.left }
