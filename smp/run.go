package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// Run steps movers until all work is done, nothing can move, a monitor has a finding, or the
// budget is spent.
func (m *Machine) Run() Outcome {
	m.weak.begin()
	m.tracer.begin(m)
	m.drive(nil, m.turns.turn())
	return m.ending.outcome
}

// drive steps the machine, beginning with mv, until routine x may continue. With x nil
// (called by Run) it returns when the run is over. A routine that gives way doesn't return to
// Run: it drives the machine itself, on its own fibre. Most moves need no fibre (an
// instruction, a trap's delivery, an IRET), and a switch of fibres costs more than they do.
// A routine that begins on top of x in the same task is called as a function. Another one
// that continues is resumed on top of x. If it lies below x, x parks; the routine below finds
// m.next when control has come down to it.
func (m *Machine) drive(x *Ctx, mv sim.Mover) {
	for !m.ending.over {
		if m.turns.spins {
			m.turns.stepped(mv)
		}
		if c := m.onText(mv); c != nil {
			m.execute(c)
			mv = m.turns.turn()
			continue
		}
		if y := m.move(mv, x); y != nil {
			if y != x {
				m.turns.next = mv
				m.routines.park(x)
			}
			return
		}
		if mv = m.turns.next; mv == sim.NoMover {
			mv = m.turns.turn()
		} else { // a routine above has already asked the question
			m.turns.next = sim.NoMover
		}
	}
	if x != nil {
		m.routines.park(x) // for good: Reset unwinds it
	}
}

// move lets one mover make its step; by drives the machine. If the step continues a routine
// that is itself driving, move returns that routine, which must continue by itself.
func (m *Machine) move(mv sim.Mover, by *Ctx) (below *Ctx) {
	switch {
	case mv < sim.MoverIPI:
		return m.advance(&m.cpus.list[mv], by)
	case mv < sim.MoverSource:
		m.irqs.takeIPI(&m.cpus.list[mv-sim.MoverIPI])
	case mv < sim.MoverDrain:
		m.irqs.fire(m.irqs.sources[mv-sim.MoverSource])
	case mv != sim.NoMover:
		m.weak.drain(&m.cpus.list[mv-sim.MoverDrain])
	}
	return nil
}

// execute runs guest text on c: one instruction, and those after it whose questions are
// already answered, as long as they only need executing. It does the same as repeated turn,
// move and execute, without the overhead.
func (m *Machine) execute(c *CPU) {
	in := c.known()
	if in == nil {
		if in = m.text.fetchSlow(c); in == nil {
			return
		}
	}
	m.mem.cpu = c.id
	if m.weak.holds {
		m.executeHolding(c, in)
		return
	}
	held := m.turns.held(c)
	if m.tracer.to != nil {
		m.tracer.to.Instruction(c.id, in.Inst, &c.regs)
		held = 0
	}
	left := held
	id := uint64(c.id)
	instruction := sim.Time(m.time.costs[cycles.Instruction])
	var out arch.Outcome
	for {
		m.log.Mix(uint64(in.Addr)<<6 | id)
		m.time.now[id%sim.MaxCPUs] += instruction
		if out = in.Run(in, &c.regs, m.mem.own); out != arch.Next || left == 0 {
			break
		}
		next := c.known()
		if next == nil {
			if next = m.text.fetchOn(c); m.log.Found != nil { // the boundary counts, but the instruction isn't executed
				m.turns.steps++
				break
			}
			if next == nil {
				break
			}
		}
		in = next
		left--
	}
	more := held - left
	m.turns.instr += 1 + more
	m.turns.steps += more
	if m.time.tally != nil {
		m.time.tally[id][cycles.Instruction] += 1 + more
	}
	if out != arch.Next || c.after != 0 {
		m.react(c, in, out)
	}
}

// react carries out what an instruction asks of the machine.
func (m *Machine) react(c *CPU, in *inst, out arch.Outcome) {
	was := c.after
	c.after &^= shadow | deaf
	if was&shadow != 0 {
		m.turns.attend(c)
	}
	switch out {
	case arch.Next:
	case arch.Relaxed:
		m.turns.relax(c)
	case arch.Serialized:
		m.text.serialise(c, 0)
	case arch.Masked:
		c.after |= shadow | deaf
		m.turns.attend(c)
	case arch.Interrupts:
		c.trace()
		m.turns.attend(c)
	case arch.Shadowed:
		c.after |= shadow
		m.turns.attend(c)
	case arch.TrapReturn: // text that returns from a frame it made itself
		c.nmiBlocked = false
		c.trace()
		m.text.serialise(c, 0)
		m.turns.attend(c)
	default:
		m.traps.raise(c, in, out)
	}
	if was&traced != 0 {
		switch out { // not for arch.Masked, nor for outcomes that raise their own trap
		case arch.Next, arch.Relaxed, arch.Serialized, arch.Interrupts, arch.Shadowed, arch.TrapReturn:
			m.traps.deliver(c, smpev.VecDB, c.regs.IP, 0)
		}
	}
}

// advance makes the step of a CPU that runs no guest text: a routine continues, a finished
// trap handler returns, or an idle CPU picks a task.
func (m *Machine) advance(c *CPU, by *Ctx) (below *Ctx) {
	m.time.spender, m.mem.cpu = c.id, c.id
	f := c.task.top()
	switch {
	case f == nil:
		m.tasks.schedule(c, true)
	case f.kind == iret:
		m.traps.iret(c)
	case f.ctx.driving:
		return f.ctx
	case f.ctx.prompt:
		m.routines.runPromptly(f.ctx)
	case f.ctx.started:
		m.routines.resume(f.ctx)
	default:
		m.routines.start(f.ctx, by)
	}
	return nil
}
