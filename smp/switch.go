package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/lkmm"
	"kpsim/smp/smpev"
)

// schedule gives c to the next task: a stopper first, else one of the run
// queue, in its order by default. The task that is current goes to the end of
// the queue if it is still runnable.
func (m *Machine) schedule(c *CPU, voluntary bool) {
	prev := c.task
	m.flush(c)
	m.takeOver(c)
	m.fence(c, lkmm.MB)
	m.touchQueue(c, true)
	m.bringQueue(c, c)
	c.needResched, c.urgent = false, false
	if m.errand == c { // it won't return to where it stood soon
		m.errand = nil
	}
	queued := prev.state == runnable && prev.class != classIdle
	pushed := queued && c.hot.pushes && !prev.stays(c)
	if queued = queued && !pushed; queued {
		if len(c.runq) == 0 { // no other task: it goes on
			if voluntary {
				prev.switches++
			}
			m.switched(c, prev, prev, voluntary)
			return
		}
		c.runq = append(c.runq, prev)
	}
	next := c.idle
	if n := len(c.runq); n > 0 {
		choices := n
		if queued {
			choices-- // not itself again
		}
		pick := 0
		if c.runq[0].class != classStopper {
			pick = m.ask(sim.Task, choices, c)
		}
		next = c.runq[pick]
		if pick < n-1 {
			copy(c.runq[pick:], c.runq[pick+1:])
		}
		c.runq = c.runq[:n-1]
	}
	if voluntary && prev.class != classIdle {
		prev.switches++
	}
	if next == prev {
		m.switched(c, prev, prev, voluntary)
		return
	}
	if prev == c.idle || next == c.idle {
		m.touch(objIdle, uint64(c.id), true)
	}
	prev.regs = c.regs
	c.task = next
	c.regs = next.regs
	m.switchBases(c, prev, next)
	c.trace()
	c.guest = next.onGuest()
	m.catchUp(c, next.woken)
	m.spend(c.id, cycles.Switch, 1)
	m.log.Emit(smpev.Switch, c.id, uint8(prev.ID), uint64(prev.ID), uint64(next.ID), b2u(voluntary))
	m.switched(c, prev, next, voluntary)
	m.attend(c)
	if c.hot.pushes {
		m.balance(c, prev, pushed)
	}
}

// balance is what a CPU that isn't active does behind a switch (balance_push): what it has
// taken off goes, and what it has put on is to, as soon as it can be preempted. The kernel's
// stopper does that.
func (m *Machine) balance(c *CPU, prev *Task, pushed bool) {
	if pushed {
		m.push(c, prev)
	}
	if c.task.stays(c) {
		return
	}
	c.needResched, c.urgent = true, true
	if m.cfg.Full {
		m.touch(objIPI, uint64(c.id), true)
		c.ipi |= IPIResched
	}
}

func (m *Machine) switched(c *CPU, prev, next *Task, voluntary bool) {
	how := smpev.GiveWilling * b2u(voluntary)
	if prev.state != runnable || prev.class == classIdle {
		how |= smpev.GiveRests
	}
	m.log.Tell(smpev.Gives, c.id, uint8(prev.ID), uint64(prev.ID), uint64(next.ID), how)
	if m.hooks.Switched != nil {
		m.hooks.Switched(prev, next, voluntary)
	}
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Wake makes a dormant task runnable: its body runs from its start. One that
// runs already runs its body once more afterwards.
func (m *Machine) Wake(t *Task) {
	m.touchQueue(t.cpu, true)
	if t.state == dead {
		return
	}
	if t.state != dormant {
		t.again = true
		return
	}
	if t.cpu.hot.pushes && !t.stays(t.cpu) {
		m.fallback(t)
	}
	m.begin(t)
	m.handOver(m.time.spender, t.cpu.id)
	m.bringQueue(&m.cpus[m.time.spender], t.cpu)
	// The CPU would have let it run before, had it been woken.
	if m.time.lines != nil && t.class == classStopper && m.cfg.Full && t.cpu.task != t.cpu.idle {
		m.catchUp(&m.cpus[m.time.spender], m.time.now[t.cpu.id])
	}
	t.state, t.woken = runnable, m.time.Now()
	m.emit(t.cpu, smpev.Wake, uint64(t.ID), 0, 0)
	t.cpu.enqueue(m, t)
	if t.class == classStopper && m.cfg.Full && t.cpu.task != t.cpu.idle {
		m.touch(objIPI, uint64(t.cpu.id), true)
		t.cpu.ipi |= IPIResched // it is to run at once
	}
	m.attend(t.cpu)
}

// begin puts the frame of a task's body on its empty stack of frames.
func (m *Machine) begin(t *Task) {
	x := m.acquire(t.cpu, t)
	x.body, x.vector = t.body, 0
	x.place, x.step = t.Name, 0
	t.frames = append(t.frames, frame{kind: routine, ctx: x})
}

// bodyEnded is called when a task's body has returned.
func (m *Machine) bodyEnded(c *CPU, t *Task) {
	m.touchQueue(c, true)
	switch {
	case t.again:
		t.again = false
		m.begin(t)
		return
	case t.class == classProgram:
		t.state = dead
		m.emit(c, smpev.Exit, uint64(t.ID), 0, 0)
		if m.hooks.Exited != nil {
			m.hooks.Exited(t)
		}
	default:
		t.state = dormant
	}
	m.schedule(c, true)
}

// A pause says that a CPU waits in a loop until another one has done something (SDM vol.
// 2B, "PAUSE"). Between two pauses of a CPU all others that can go on make a step, as in
// fair scheduling by yields (Musuvathi, Qadeer: Fair Stateless Model Checking, 2008): a
// strategy that prefers the CPU that waits would have it do so for ever. A loop that looks
// again before anything has moved would see what it has seen.

// relax is what a pause of c does. By default the next CPU that can go on does.
func (m *Machine) relax(c *CPU) {
	others := (m.moves[0] | m.moves[1]) &^ c.bit
	c.owed, c.beside = others&^c.beside, 0
	c.owedStores, c.storesBeside = m.moves[3]&^c.storesBeside, 0
	m.spins = true
	m.touchSpin(c)
	m.hasten(c)
	m.again()
	if others == 0 {
		return
	}
	behind := others &^ (c.bit - 1)
	if behind == 0 {
		behind = others
	}
	next := &m.cpus[firstCPU(behind)]
	switch m.errand = nil; {
	case next.task != next.idle:
		m.lead = next.task
	case m.moves[0]&next.bit != 0 && next.task.top() == nil: // what waits there runs next
		m.lead = next.runq[0]
	default:
		m.errand = next
	}
}

// owing returns the CPUs that make no step before others have made theirs.
func (m *Machine) owing() (set uint64) {
	for i := range m.cpus {
		if c := &m.cpus[i]; c.owed&(m.moves[0]|m.moves[1])|c.owedStores&m.moves[3] != 0 {
			set |= c.bit
		}
	}
	return set
}

// stepped says that it is mv's step, for those that wait for it in a loop. One that is
// interrupted goes on with the handler.
func (m *Machine) stepped(mv sim.Mover) {
	if mv >= sim.MoverSource {
		if mv >= sim.MoverDrain { // storesMove does it, or nothing moves
			return
		}
		if c := m.sources[mv-sim.MoverSource].cpu; c != nil && c.owed|c.owedStores != 0 {
			c.owed, c.owedStores = 0, 0
			m.touchSpin(c)
			m.again()
		}
		return
	}
	c := &m.cpus[mv%sim.MaxCPUs]
	if mv >= sim.MoverIPI {
		c.owed, c.owedStores = 0, 0
	}
	for i := range m.cpus {
		d := &m.cpus[i]
		if d == c || d.beside&c.bit != 0 && d.owed&c.bit == 0 {
			continue
		}
		d.beside |= c.bit
		m.touchSpin(d)
		if d.owed &^= c.bit; d.owed == 0 {
			m.again()
		}
	}
}

// storesMove says that a store of c has taken effect, for those that wait in a loop.
func (m *Machine) storesMove(c *CPU) {
	for i := range m.cpus {
		if d := &m.cpus[i]; d.storesBeside&c.bit == 0 || d.owedStores&c.bit != 0 {
			d.storesBeside |= c.bit
			d.owedStores &^= c.bit
			m.touchSpin(d)
		}
	}
	m.again()
}
