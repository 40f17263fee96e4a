package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/lkmm"
	"kpsim/smp/smpev"
)

// schedule gives c to the next task: a stopper first, else a task of the run queue, by
// default the first. The current task goes to the end of the queue if it is still runnable.
func (ts *Tasks) schedule(c *CPU, voluntary bool) {
	m := ts.m
	prev := c.task
	m.weak.flush(c)
	m.weak.takeOver(c)
	m.weak.fence(c, lkmm.MB)
	m.foot.touchQueue(c, true)
	m.time.bringQueue(c, c)
	c.needResched, c.urgent = false, false
	if m.turns.errand == c { // the CPU won't soon return to where it stood
		m.turns.errand = nil
	}
	queued := prev.state == runnable && prev.class != classIdle
	pushed := queued && c.hot.pushes && !prev.stays(c)
	if queued = queued && !pushed; queued {
		if len(c.runq) == 0 { // no other task: the current one continues
			if voluntary {
				prev.switches++
			}
			ts.switched(c, prev, prev, voluntary)
			return
		}
		c.runq = append(c.runq, prev)
	}
	next := c.idle
	if n := len(c.runq); n > 0 {
		choices := n
		if queued {
			choices-- // the current task isn't picked again
		}
		pick := 0
		if c.runq[0].class != classStopper {
			pick = m.turns.ask(sim.Task, choices, c)
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
		ts.switched(c, prev, prev, voluntary)
		return
	}
	if prev == c.idle || next == c.idle {
		m.foot.touch(objIdle, uint64(c.id), true)
	}
	prev.regs = c.regs
	c.task = next
	c.regs = next.regs
	m.cpus.own(c)
	c.sys.Switch(&prev.system, &next.system)
	m.cpus.reserves.lose(c)
	c.trace()
	c.guest = next.onGuest()
	m.time.catchUp(c, next.woken)
	m.time.spend(c.id, cycles.Switch, 1)
	m.log.Emit(smpev.Switch, c.id, uint8(prev.ID), uint64(prev.ID), uint64(next.ID), b2u(voluntary))
	ts.switched(c, prev, next, voluntary)
	m.turns.attend(c)
	if c.hot.pushes {
		ts.balance(c, prev, pushed)
	}
}

// balance runs after a switch on an inactive CPU (balance_push): the task switched out leaves
// the CPU at once; the task switched in leaves as soon as it can be preempted. In the kernel
// the stopper does that.
func (ts *Tasks) balance(c *CPU, prev *Task, pushed bool) {
	if pushed {
		ts.push(c, prev)
	}
	if c.task.stays(c) {
		return
	}
	c.needResched, c.urgent = true, true
	if ts.m.cfg.Full {
		ts.m.foot.touch(objIPI, uint64(c.id), true)
		c.ipi |= IPIResched
	}
}

func (ts *Tasks) switched(c *CPU, prev, next *Task, voluntary bool) {
	m := ts.m
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

// Wake makes a dormant task runnable: its body runs from the start. If the task is already
// running, its body runs once more afterwards.
func (ts *Tasks) Wake(t *Task) {
	m := ts.m
	m.foot.touchQueue(t.cpu, true)
	if t.state == dead {
		return
	}
	if t.state != dormant {
		t.again = true
		return
	}
	if t.cpu.hot.pushes && !t.stays(t.cpu) {
		ts.fallback(t)
	}
	ts.begin(t)
	m.weak.handOver(m.time.spender, t.cpu.id)
	m.time.bringQueue(&m.cpus.list[m.time.spender], t.cpu)
	// The CPU would have run the stopper earlier if that had been awake.
	if m.time.priced() && t.class == classStopper && m.cfg.Full && t.cpu.task != t.cpu.idle {
		m.time.catchUp(&m.cpus.list[m.time.spender], m.time.now[t.cpu.id])
	}
	t.state, t.woken = runnable, m.time.Now()
	m.emit(t.cpu, smpev.Wake, uint64(t.ID), 0, 0)
	t.cpu.enqueue(m, t)
	if t.class == classStopper && m.cfg.Full && t.cpu.task != t.cpu.idle {
		m.foot.touch(objIPI, uint64(t.cpu.id), true)
		t.cpu.ipi |= IPIResched // so that it runs at once
	}
	m.turns.attend(t.cpu)
}

// begin puts the frame of a task's body on its empty stack of frames.
func (ts *Tasks) begin(t *Task) {
	x := ts.m.routines.acquire(t.cpu, t)
	x.body, x.vector = t.body, 0
	x.place, x.step = t.Name, 0
	t.frames = append(t.frames, frame{kind: routine, ctx: x})
}

// bodyEnded is called when a task's body has returned.
func (ts *Tasks) bodyEnded(c *CPU, t *Task) {
	m := ts.m
	m.foot.touchQueue(c, true)
	switch {
	case t.again:
		t.again = false
		ts.begin(t)
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
	ts.schedule(c, true)
}
