package smp

import (
	"kpsim/sim"
	"math/bits"
)

// turns says what can move and whose step is next. It holds the run's strategy and
// spends its budget of boundaries.
type turns struct {
	m        *Machine
	chooser  sim.Chooser
	p        sim.Point // the question
	moves    sim.Moves // as in p, kept up to date
	stale    uint64    // the CPUs whose bits in moves may be outdated
	hold     uint64    // up to this boundary the answer is 0
	outlasts int       // what a hold may outlast (sim.Steady, sim.Through)
	lead     *Task     // the thread of control that goes on by default
	errand   *CPU      // the CPU that answers an IPI first
	spins    bool      // a CPU has waited in a loop (spin.go)
	next     sim.Mover // the answer that a routine above has already got
	steps    uint64    // boundaries so far
	settled  uint64    // how many of steps have been counted in p.Seq, if they had a choice
	limit    uint64    // up to this boundary the only questions are before watched text, and look isn't called
	changed  bool      // what can move, or what moves next, may have changed
	instr    uint64    // instructions of guest text so far
}

func (tu *turns) init(m *Machine) {
	tu.m, tu.next = m, sim.NoMover
	tu.p.Clocks = &m.time.now
}

// reset begins a run under a strategy.
func (tu *turns) reset(ch sim.Chooser) {
	tu.chooser = ch
	tu.p.Seq, tu.p.Moves, tu.moves = 0, sim.Moves{}, sim.Moves{}
	tu.hold, tu.outlasts, tu.steps, tu.settled, tu.limit, tu.instr = 0, 0, 0, 0, 0, 0
	tu.lead, tu.errand, tu.next, tu.spins = nil, nil, sim.NoMover, false
}

// turn is the one place that asks which mover is next, counts boundaries, and spends the
// budget. Run calls it between steps; a routine's yield point calls it in place. Up to
// boundary tu.limit nothing has to be looked at, and the only questions are before watched
// text.
func (tu *turns) turn() sim.Mover {
	m := tu.m
	switch {
	case tu.steps < tu.limit:
	case tu.changed && m.foot != nil:
		return tu.turnObserved()
	case tu.changed || tu.steps >= m.cfg.Budget:
		if !tu.look() {
			return sim.NoMover
		}
	}
	tu.steps++
	if tu.p.N <= 1 {
		return tu.p.First
	}
	held := tu.steps <= tu.limit
	if held && tu.outlasts&sim.Through != 0 {
		return tu.p.First
	}
	watched := tu.firstWatched()
	if held && !watched {
		return tu.p.First
	}
	tu.p.Seq += tu.steps - 1 - tu.settled
	tu.p.Watched = watched
	pick, hold := tu.chooser.Choose(&tu.p)
	tu.p.Seq++
	tu.settled = tu.steps
	tu.outlasts = hold
	tu.hold = tu.steps + uint64(hold&sim.Forever) // 0, unless pick is
	tu.limit = min(tu.hold, m.cfg.Budget)
	if m.footprint.begun {
		return tu.turnBegun(pick)
	}
	if pick == 0 {
		return tu.p.First
	}
	if pick == sim.Enough {
		m.ending.with(Abandoned)
		return sim.NoMover
	}
	mv := tu.p.Mover(pick)
	tu.deviate(mv)
	return mv
}

// turnBegun is the rest of a turn in which WatchNow was called.
func (tu *turns) turnBegun(pick int) sim.Mover {
	tu.m.footprint.begun = false
	mv := tu.p.First
	if pick != 0 {
		mv = tu.p.Mover(pick)
		tu.deviate(mv)
	}
	tu.again()
	tu.m.foot.begin(mv)
	return mv
}

// settle counts the questions that were held since its last call. These are the boundaries
// since then, if there was a choice, which doesn't change in between. Without a choice they
// don't count towards the hold.
func (tu *turns) settle() {
	if n := tu.steps - tu.settled; tu.p.N > 1 {
		tu.p.Seq += n
	} else {
		tu.hold += n
	}
	tu.settled = tu.steps
}

// firstWatched reports whether the mover of alternative 0 is a CPU that stands
// before watched text.
func (tu *turns) firstWatched() bool {
	c := tu.m.onText(tu.p.First)
	if c == nil {
		return false
	}
	if at := c.regs.IP - c.codeAt; at < pageSize && c.page != nil {
		return c.page.watched[at/chunk]
	}
	return tu.m.text.rest(c) != nil || tu.m.mem.Watched(c.regs.IP, 1)
}

// deviate makes the mover's thread of control the one that goes on by default.
func (tu *turns) deviate(mv sim.Mover) {
	m := tu.m
	if tu.p.First >= sim.MoverDrain {
		m.weak.putOff(tu.p.First)
	}
	if mv >= sim.MoverDrain {
		return
	}
	tu.errand = nil
	if mv < sim.MoverIPI {
		tu.lead = m.cpus.list[mv].task
		if tu.p.Moves[1]>>mv&1 != 0 || tu.lead.class == classIdle {
			tu.again()
		} else {
			tu.p.First = mv
		}
		return
	}
	if mv < sim.MoverSource {
		tu.lead = m.cpus.list[mv-sim.MoverIPI].task
	} else if s := m.irqs.sources[mv-sim.MoverSource]; s.cpu != nil {
		tu.lead = s.cpu.task
	} else {
		tu.lead = s.Waker
	}
	tu.again()
}

// attend makes the next turn look at c, because c's possible moves may have changed.
func (tu *turns) attend(c *CPU) {
	tu.stale |= c.bit
	tu.again()
}

// again makes the next turn decide anew which mover is next and whether the run is over, and
// look at the waiting routines.
func (tu *turns) again() { tu.changed, tu.limit = true, 0 }

// look finds out what can move. It is called when something may have changed, and when the
// budget is spent. false: the run is over.
func (tu *turns) look() bool {
	m := tu.m
	if m.ending.over {
		return false
	}
	if m.log.Found != nil {
		return m.ending.with(Violated)
	}
	if tu.steps >= m.cfg.Budget && !m.pause() {
		return m.ending.with(Exhausted)
	}
	if m.waits.recheck {
		m.waits.letGo()
	}

	for set := tu.stale; set != 0; set &= set - 1 {
		tu.lookAt(&m.cpus.list[firstCPU(set)])
	}
	tu.stale = 0
	// The sets are read word by word: a load of a whole set just after stores of its words is slow.
	goes, takes, fires, drains := tu.moves[0], tu.moves[1], tu.moves[2], tu.moves[3]
	if tu.spins {
		goes &^= tu.owing()
	}
	if p := &tu.p.Moves; goes != p[0] || takes != p[1] || fires != p[2] || drains != p[3] {
		tu.settle()
		if fires != p[2] || tu.outlasts&sim.Steady == 0 {
			tu.hold = tu.steps
		}
		p[0], p[1], p[2], p[3] = goes, takes, fires, drains
		tu.p.N = bits.OnesCount64(goes) + bits.OnesCount64(takes) + bits.OnesCount64(fires) + bits.OnesCount64(drains)
	}
	if goes|takes|drains == 0 && !tu.worthFiring(fires) {
		if m.pause() {
			return tu.look()
		}
		if len(m.waits.list) > 0 {
			return m.ending.with(Stuck)
		}
		return m.ending.with(Passed)
	}
	tu.p.Kind = sim.Step
	if first := tu.boring(); first != tu.p.First {
		tu.p.First = first
		if tu.outlasts&sim.Steady == 0 {
			tu.hold = tu.steps
		}
	}
	tu.changed, tu.limit = false, m.cfg.Budget
	if tu.p.N > 1 {
		tu.limit = min(tu.limit, tu.hold)
	}
	return true
}

// lookAt finds out which moves c has: to go on, to take its IPI, to be interrupted by its
// sources.
func (tu *turns) lookAt(c *CPU) {
	open := c.open()
	apic := open && !c.hot.off // the APIC of a CPU that is off is disabled
	goes, takes, fires := tu.moves[0]&^c.bit, tu.moves[1]&^c.bit, tu.moves[2]
	if c.guest || c.canGoOn() {
		goes |= c.bit
	}
	if open && c.ipi != 0 {
		takes |= c.bit
	}
	for _, s := range c.sources {
		fires &^= s.bit
		if s.left != 0 && s.ready(&tu.m.cfg, apic) {
			fires |= s.bit
		}
	}
	tu.moves[0], tu.moves[1], tu.moves[2] = goes, takes, fires
}

// worthFiring reports whether a source must fire although no CPU can move, because delayed
// work is pending or a routine waits for a tick.
func (tu *turns) worthFiring(set uint64) bool {
	if len(tu.m.waits.list) > 0 && set != 0 {
		return true
	}
	for ; set != 0; set &= set - 1 {
		if tu.m.irqs.sources[bits.TrailingZeros64(set)].Kind == WorkSource {
			return true
		}
	}
	return false
}

// boring returns the mover of alternative 0, the default: the thread of control that ran last
// goes on. While it waits, the mover that it waits for goes on.
func (tu *turns) boring() sim.Mover {
	m := tu.m
	if m.weak.prompt != 0 {
		return sim.MoverDrain + firstCPU(m.weak.prompt)
	}
	if tu.errand != nil && tu.can(tu.errand) { // a CPU that answers an IPI returns to where it stood
		return tu.onward(tu.errand)
	}
	t := tu.lead
	if tu.errand == nil && t != nil && t.state == runnable && t.class != classIdle { // mostly
		if c := t.cpu; c.task == t && tu.p.Moves[0]&c.bit != 0 {
			return tu.onward(c)
		}
	}
	for range m.tasks.all { // a chain of waits: each task at most once
		if t == nil || t.state == dead || t.state == dormant || t.class == classIdle {
			break
		}
		if c := t.cpu; t.state == runnable && tu.can(c) {
			if f := t.top(); c.task != t || f == nil || f.kind != routine || f.ctx.cond == nil {
				return tu.onward(c)
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
	if set := tu.p.Moves[1]; set != 0 && t != nil {
		if why, _ := t.waits(); why == waitIPI {
			return sim.MoverIPI + firstCPU(set)
		}
	}
	if set := tu.p.Moves[0] | tu.p.Moves[1]; set != 0 {
		c := &m.cpus.list[firstCPU(set)]
		if t == nil || t.state == dead || t.state == dormant || t.class == classIdle {
			tu.lead = c.task
		}
		return tu.onward(c)
	}
	if set := tu.p.Moves[3]; set != 0 {
		return sim.MoverDrain + firstCPU(set)
	}
	for set := tu.p.Moves[2]; set != 0; set &= set - 1 {
		if s := m.irqs.sources[bits.TrailingZeros64(set)]; s.Kind == WorkSource {
			return s.index
		}
	}
	return sim.MoverSource + firstCPU(tu.p.Moves[2])
}

// can reports whether c has any move but to fire a source.
func (tu *turns) can(c *CPU) bool { return (tu.p.Moves[0]|tu.p.Moves[1])&c.bit != 0 }

// onward is c's default move: a pending IPI is taken at the first boundary
// with interrupts on.
func (tu *turns) onward(c *CPU) sim.Mover {
	if tu.p.Moves[1]&c.bit != 0 {
		return sim.MoverIPI + sim.Mover(c.id)
	}
	return sim.Mover(c.id)
}

// ask puts a question other than which mover is next.
func (tu *turns) ask(k sim.Kind, n int, c *CPU) int {
	if n <= 1 {
		return 0
	}
	tu.settle()
	kind, was, first := tu.p.Kind, tu.p.N, tu.p.First
	tu.p.Kind, tu.p.N, tu.p.First = k, n, sim.Mover(c.id)
	pick, _ := tu.chooser.Choose(&tu.p)
	tu.p.Seq++
	tu.p.Kind, tu.p.N, tu.p.First = kind, was, first
	return pick
}

// held returns for how many boundaries it stays c's turn without a question.
func (tu *turns) held(c *CPU) uint64 {
	if tu.steps >= tu.limit || c.after != 0 {
		return 0
	}
	return tu.limit - tu.steps // a routine that deviated has no hold
}

// turnObserved is turn for an observed machine. It reports the step that has ended, and looks
// at every boundary.
func (tu *turns) turnObserved() sim.Mover {
	m := tu.m
	f := m.foot
	if m.waits.recheck && !m.ending.over && m.log.Found == nil && tu.steps < m.cfg.Budget {
		m.waits.letGo() // those that the step lets go on belong to it
	}
	if f.inside != nil {
		if mv := tu.within(); mv != sim.NoMover {
			return mv
		}
	}
	f.end()
	mv := sim.NoMover
	if tu.look() {
		if f.plans && tu.p.N > 1 {
			f.lookAhead()
		}
		mv = tu.turn() // has nothing to look at: it asks
	}
	tu.again()
	f.begin(mv)
	return mv
}

// within continues an atomic interrupt: it returns the CPU if that moves next.
func (tu *turns) within() sim.Mover {
	m := tu.m
	c := m.foot.inside
	t := c.task.top()
	if m.ending.over || c.task != m.foot.stood.task || len(c.task.frames) <= m.foot.stood.frames ||
		t.kind == guest || t.kind == routine && !t.ctx.prompt {
		return sim.NoMover
	}
	if !tu.unasked(c) {
		return sim.NoMover
	}
	return sim.Mover(c.id)
}

// unasked passes a boundary without a question if c can go on, even if c isn't the default
// mover. The default may depend on the order of steps that commute, and a step must not. The
// current step continues.
func (tu *turns) unasked(c *CPU) bool {
	mv := sim.Mover(c.id)
	goes := !tu.m.ending.over && tu.look() && tu.p.Moves[0]>>mv&1 != 0
	tu.again()
	if !goes {
		return false
	}
	if tu.p.First != mv {
		tu.force(mv)
		return true
	}
	if tu.p.N > 1 && tu.steps < tu.hold { // what is held is held for questions
		tu.hold++
	}
	tu.steps++
	return true
}

// force is turn with a fixed answer: mv moves, whatever the chooser would answer.
func (tu *turns) force(mv sim.Mover) {
	tu.settle()
	pick := 1
	for tu.p.Mover(pick) != mv {
		pick++
	}
	if f, ok := tu.chooser.(sim.Forced); ok {
		f.Forced(&tu.p, pick)
	}
	tu.p.Seq++
	tu.steps++
	tu.settled, tu.hold, tu.outlasts = tu.steps, tu.steps, 0
	tu.deviate(mv)
	tu.again()
}
