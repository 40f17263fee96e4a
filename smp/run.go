package smp

import (
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// Run steps movers until nothing is left, nothing can move, a monitor has a
// finding, or the budget is out.
func (m *Machine) Run() Outcome {
	m.beginWeak()
	m.tracer.begin(m)
	m.drive(nil, m.turn())
	return m.outcome
}

// drive makes moves, mv first, until it is the turn of x, which called it to
// give way; nil is Run, whose turn never comes. A routine that gives way does
// not go back to Run: it drives the machine itself, on its own fibre, for most
// moves need none (an instruction, a trap's delivery, an IRET) and a switch of
// fibres costs more than they do. A routine that begins on top of x in its task is
// called, as a function is; one that is to go on is resumed on top of x; if it is one of
// those below, x parks, and it finds m.next when control has come down to it.
func (m *Machine) drive(x *Ctx, mv sim.Mover) {
	for !m.over {
		if m.spins {
			m.stepped(mv)
		}
		if c := m.onText(mv); c != nil {
			m.execute(c)
			mv = m.turn()
			continue
		}
		if y := m.move(mv, x); y != nil {
			if y != x {
				m.next = mv
				x.park()
			}
			return
		}
		if mv = m.next; mv == sim.NoMover {
			mv = m.turn()
		} else { // a routine above has asked already
			m.next = sim.NoMover
		}
	}
	if x != nil {
		x.park() // for good: Reset unwinds it
	}
}

// move lets one mover make its step; by drives the machine. If the step is to go on with
// a routine that drives it, it is for that routine to do so: move returns it.
func (m *Machine) move(mv sim.Mover, by *Ctx) (below *Ctx) {
	switch {
	case mv < sim.MoverIPI:
		return m.advance(&m.cpus[mv], by)
	case mv < sim.MoverSource:
		m.takeIPI(&m.cpus[mv-sim.MoverIPI])
	case mv < sim.MoverDrain:
		m.fire(m.sources[mv-sim.MoverSource])
	case mv != sim.NoMover:
		m.drain(&m.cpus[mv-sim.MoverDrain])
	}
	return nil
}

// turn is the one place that asks which mover is next, counts, and spends the budget.
// Run calls it between steps; a routine's yield point calls it in place. Up to m.limit
// boundaries there is nothing to look at and no question to put, but before watched
// text.
func (m *Machine) turn() sim.Mover {
	switch {
	case m.steps < m.limit:
	case m.changed && m.foot != nil:
		return m.turnObserved()
	case m.changed || m.steps >= m.cfg.Budget:
		if !m.look() {
			return sim.NoMover
		}
	}
	m.steps++
	if m.p.N <= 1 {
		return m.p.First
	}
	held := m.steps <= m.limit
	if held && m.outlasts&sim.Through != 0 {
		return m.p.First
	}
	watched := m.firstWatched()
	if held && !watched {
		return m.p.First
	}
	m.p.Seq += m.steps - 1 - m.settled
	m.p.Watched = watched
	pick, hold := m.chooser.Choose(&m.p)
	m.p.Seq++
	m.settled = m.steps
	m.outlasts = hold
	m.hold = m.steps + uint64(hold&sim.Forever) // 0, unless pick is
	m.limit = min(m.hold, m.cfg.Budget)
	if m.footprint.begun {
		return m.turnBegun(pick)
	}
	if pick == 0 {
		return m.p.First
	}
	if pick == sim.Enough {
		m.end(Abandoned)
		return sim.NoMover
	}
	mv := m.p.Mover(pick)
	m.deviate(mv)
	return mv
}

// turnBegun is the rest of a turn in which WatchNow was called.
func (m *Machine) turnBegun(pick int) sim.Mover {
	m.footprint.begun = false
	mv := m.p.First
	if pick != 0 {
		mv = m.p.Mover(pick)
		m.deviate(mv)
	}
	m.again()
	m.foot.begin(mv)
	return mv
}

// settle counts the questions that were held since it was called last: the
// boundaries since then, if there was a choice, which doesn't change in between.
// If there was none they don't count for the hold.
func (m *Machine) settle() {
	if n := m.steps - m.settled; m.p.N > 1 {
		m.p.Seq += n
	} else {
		m.hold += n
	}
	m.settled = m.steps
}

// firstWatched reports whether the mover of alternative 0 is a CPU that stands
// before watched text.
func (m *Machine) firstWatched() bool {
	c := m.onText(m.p.First)
	if c == nil {
		return false
	}
	if at := c.regs.IP - c.codeAt; at < pageSize && c.page != nil {
		return c.page.watched[at/chunk]
	}
	return m.mem.Watched(c.regs.IP, 1)
}

// deviate makes the mover's thread of control the one that goes on by default.
func (m *Machine) deviate(mv sim.Mover) {
	if m.p.First >= sim.MoverDrain {
		m.putOff(m.p.First)
	}
	if mv >= sim.MoverDrain {
		return
	}
	m.errand = nil
	if mv < sim.MoverIPI {
		m.lead = m.cpus[mv].task
		if m.p.Moves[1]>>mv&1 != 0 || m.lead.class == classIdle {
			m.again()
		} else {
			m.p.First = mv
		}
		return
	}
	if mv < sim.MoverSource {
		m.lead = m.cpus[mv-sim.MoverIPI].task
	} else if s := m.sources[mv-sim.MoverSource]; s.cpu != nil {
		m.lead = s.cpu.task
	} else {
		m.lead = s.Waker
	}
	m.again()
}

// attend says that what c can do may have changed: the next turn looks at it.
func (m *Machine) attend(c *CPU) {
	m.stale |= c.bit
	m.again()
}

// again makes the next turn decide anew what moves next, whether the run is
// over, and at those who wait.
func (m *Machine) again() { m.changed, m.limit = true, 0 }

// look finds out what can move. It is called when something may have changed,
// and when the budget is out. false: the run is over.
func (m *Machine) look() bool {
	if m.over {
		return false
	}
	if m.log.Found != nil {
		return m.end(Violated)
	}
	if m.steps >= m.cfg.Budget && !m.pause() {
		return m.end(Exhausted)
	}
	if m.recheck {
		m.recheckWaiters()
	}

	for set := m.stale; set != 0; set &= set - 1 {
		m.lookAt(&m.cpus[firstCPU(set)])
	}
	m.stale = 0
	// Word by word: a set that was just written in words is slow to be read as a whole.
	goes, takes, fires, drains := m.moves[0], m.moves[1], m.moves[2], m.moves[3]
	if m.spins {
		goes &^= m.owing()
	}
	if p := &m.p.Moves; goes != p[0] || takes != p[1] || fires != p[2] || drains != p[3] {
		m.settle()
		if fires != p[2] || m.outlasts&sim.Steady == 0 {
			m.hold = m.steps
		}
		p[0], p[1], p[2], p[3] = goes, takes, fires, drains
		m.p.N = bits.OnesCount64(goes) + bits.OnesCount64(takes) + bits.OnesCount64(fires) + bits.OnesCount64(drains)
	}
	if goes|takes|drains == 0 && !m.worthFiring(fires) {
		if m.pause() {
			return m.look()
		}
		if len(m.waiters) > 0 {
			return m.end(Stuck)
		}
		return m.end(Passed)
	}
	m.p.Kind = sim.Step
	if first := m.boring(); first != m.p.First {
		m.p.First = first
		if m.outlasts&sim.Steady == 0 {
			m.hold = m.steps
		}
	}
	m.changed, m.limit = false, m.cfg.Budget
	if m.p.N > 1 {
		m.limit = min(m.limit, m.hold)
	}
	return true
}

// lookAt finds out what c can do: go on, take its IPI, be interrupted by its
// sources.
func (m *Machine) lookAt(c *CPU) {
	open := c.open()
	apic := open && !c.hot.off // of a CPU that is off it is disabled
	goes, takes, fires := m.moves[0]&^c.bit, m.moves[1]&^c.bit, m.moves[2]
	if c.guest || c.canGoOn() {
		goes |= c.bit
	}
	if open && c.ipi != 0 {
		takes |= c.bit
	}
	for _, s := range c.sources {
		fires &^= s.bit
		if s.left != 0 && s.ready(&m.cfg, apic) {
			fires |= s.bit
		}
	}
	m.moves[0], m.moves[1], m.moves[2] = goes, takes, fires
}

// end makes this the end of the run: no turn asks anything any more.
func (m *Machine) end(o Outcome) bool {
	m.over, m.outcome = true, o
	m.again()
	return false
}

// worthFiring reports whether a source must fire although no CPU can move:
// delayed work is still to be done, or a routine waits for what a tick brings.
func (m *Machine) worthFiring(set uint64) bool {
	if len(m.waiters) > 0 && set != 0 {
		return true
	}
	for ; set != 0; set &= set - 1 {
		if m.sources[bits.TrailingZeros64(set)].Kind == WorkSource {
			return true
		}
	}
	return false
}

// boring returns the mover of alternative 0: the thread of control that ran
// last goes on; while it waits, what it waits for does.
func (m *Machine) boring() sim.Mover {
	if m.weak.prompt != 0 {
		return sim.MoverDrain + firstCPU(m.weak.prompt)
	}
	if m.errand != nil && m.can(m.errand) { // a CPU that answers an IPI returns to where it stood
		return m.onward(m.errand)
	}
	t := m.lead
	if m.errand == nil && t != nil && t.state == runnable && t.class != classIdle { // mostly
		if c := t.cpu; c.task == t && m.p.Moves[0]&c.bit != 0 {
			return m.onward(c)
		}
	}
	for range m.tasks { // a chain of waits: each task at most once
		if t == nil || t.state == dead || t.state == dormant || t.class == classIdle {
			break
		}
		if c := t.cpu; t.state == runnable && m.can(c) {
			if f := t.top(); c.task != t || f == nil || f.kind != routine || f.ctx.cond == nil {
				return m.onward(c)
			}
		}
		if why, s := t.waits(); why == waitWork {
			if s.armed {
				return s.index
			}
			t = s.Waker
			continue
		}
		break
	}
	if set := m.p.Moves[1]; set != 0 && t != nil {
		if why, _ := t.waits(); why == waitIPI {
			return sim.MoverIPI + firstCPU(set)
		}
	}
	if set := m.p.Moves[0] | m.p.Moves[1]; set != 0 {
		c := &m.cpus[firstCPU(set)]
		if t == nil || t.state == dead || t.state == dormant || t.class == classIdle {
			m.lead = c.task
		}
		return m.onward(c)
	}
	if set := m.p.Moves[3]; set != 0 {
		return sim.MoverDrain + firstCPU(set)
	}
	for set := m.p.Moves[2]; set != 0; set &= set - 1 {
		if s := m.sources[bits.TrailingZeros64(set)]; s.Kind == WorkSource {
			return s.index
		}
	}
	return sim.MoverSource + firstCPU(m.p.Moves[2])
}

// can reports whether c has any move but to fire a source.
func (m *Machine) can(c *CPU) bool { return (m.p.Moves[0]|m.p.Moves[1])&c.bit != 0 }

// onward is c's default move: a pending IPI is taken at the first boundary
// with interrupts on.
func (m *Machine) onward(c *CPU) sim.Mover {
	if m.p.Moves[1]&c.bit != 0 {
		return sim.MoverIPI + sim.Mover(c.id)
	}
	return sim.Mover(c.id)
}

// ask puts a question other than which mover is next.
func (m *Machine) ask(k sim.Kind, n int, c *CPU) int {
	if n <= 1 {
		return 0
	}
	m.settle()
	kind, was, first := m.p.Kind, m.p.N, m.p.First
	m.p.Kind, m.p.N, m.p.First = k, n, sim.Mover(c.id)
	pick, _ := m.chooser.Choose(&m.p)
	m.p.Seq++
	m.p.Kind, m.p.N, m.p.First = kind, was, first
	return pick
}

// execute runs guest text on c: one instruction, and as many after it as have
// been answered for, while they need nothing but to be executed. It is what
// turn, move and execute again would do, without the way there.
func (m *Machine) execute(c *CPU) {
	in := c.known()
	if in == nil {
		if in = m.fetchSlow(c); in == nil {
			return
		}
	}
	m.mem.cpu = c.id
	if m.weak.holds {
		m.executeHolding(c, in)
		return
	}
	held := m.held(c)
	if m.tracer.to != nil {
		m.tracer.to.Instruction(c.id, in, &c.regs)
		held = 0
	}
	left := held
	id := uint64(c.id)
	instruction := sim.Time(m.time.costs[cycles.Instruction])
	var out arch.Outcome
	for {
		m.log.Mix(uint64(in.Addr)<<6 | id)
		m.time.now[id%sim.MaxCPUs] += instruction
		if out = in.Exec(&c.regs, m.own); out != arch.Next || left == 0 {
			break
		}
		next := c.known()
		if next == nil {
			if next = m.fetchOn(c); m.log.Found != nil { // a boundary, but it is not executed
				m.steps++
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
	m.instr += 1 + more
	m.steps += more
	if m.time.tally != nil {
		m.time.tally[id][cycles.Instruction] += 1 + more
	}
	if out != arch.Next || c.after != 0 {
		m.react(c, in, out)
	}
}

// held returns for how many boundaries it stays c's turn without a question.
func (m *Machine) held(c *CPU) uint64 {
	if m.steps >= m.limit || c.after != 0 {
		return 0
	}
	return m.limit - m.steps // the routine that deviated holds nothing
}

// react does what an instruction asks of the machine.
func (m *Machine) react(c *CPU, in *inst, out arch.Outcome) {
	was := c.after
	c.after &^= shadow | deaf
	if was&shadow != 0 {
		m.attend(c)
	}
	switch out {
	case arch.Next:
	case arch.Relaxed:
		m.relax(c)
	case arch.Serialized:
		m.serialise(c, 0)
	case arch.Masked:
		c.after |= shadow | deaf
		m.attend(c)
	case arch.Interrupts:
		c.trace()
		m.attend(c)
	case arch.Shadowed:
		c.after |= shadow
		m.attend(c)
	case arch.TrapReturn: // text that returns from a frame it made itself
		c.nmiBlocked = false
		c.trace()
		m.serialise(c, 0)
		m.attend(c)
	default:
		m.raise(c, in, out)
	}
	if was&traced != 0 {
		switch out { // not arch.Masked, nor what has raised something of its own
		case arch.Next, arch.Relaxed, arch.Serialized, arch.Interrupts, arch.Shadowed, arch.TrapReturn:
			m.deliver(c, smpev.VecDB, c.regs.IP, 0)
		}
	}
}

// advance makes the step of a CPU that runs no guest text: a routine goes on,
// a finished trap handler returns, an idle CPU picks a task.
func (m *Machine) advance(c *CPU, by *Ctx) (below *Ctx) {
	m.time.spender, m.mem.cpu = c.id, c.id
	f := c.task.top()
	switch {
	case f == nil:
		m.schedule(c, true)
	case f.kind == iret:
		m.iret(c)
	case f.ctx.driving:
		return f.ctx
	case f.ctx.prompt:
		m.runPromptly(f.ctx)
	case f.ctx.started:
		f.ctx.resume()
	default:
		f.ctx.start(by)
	}
	return nil
}
