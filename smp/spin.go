package smp

import "kpsim/sim"

// A PAUSE instruction says that a CPU waits in a loop until another one has done something
// (SDM vol. 2B, "PAUSE"). Between two pauses of a CPU, every other CPU that can go on makes a
// step, as in fair scheduling by yields (Musuvathi, Qadeer: Fair Stateless Model Checking,
// 2008). Otherwise a strategy that prefers the waiting CPU would spin for ever. A loop that
// looks again before anything has moved sees the same values.

// relax carries out a pause of c. By default the next CPU that can go on moves.
func (tu *turns) relax(c *CPU) {
	m := tu.m
	others := (tu.moves[0] | tu.moves[1]) &^ c.bit
	c.owed, c.beside = others&^c.beside, 0
	c.owedStores, c.storesBeside = tu.moves[3]&^c.storesBeside, 0
	tu.spins = true
	m.foot.touchSpin(c)
	m.weak.hasten(c)
	tu.again()
	if others == 0 {
		return
	}
	behind := others &^ (c.bit - 1)
	if behind == 0 {
		behind = others
	}
	next := &m.cpus.list[firstCPU(behind)]
	switch tu.errand = nil; {
	case next.task != next.idle:
		tu.lead = next.task
	case tu.moves[0]&next.bit != 0 && next.task.top() == nil: // a task that waits there runs next
		tu.lead = next.runq[0]
	default:
		tu.errand = next
	}
}

// owing returns the CPUs that must not step before others have made a step.
func (tu *turns) owing() (set uint64) {
	for i := range tu.m.cpus.list {
		if c := &tu.m.cpus.list[i]; c.owed&(tu.moves[0]|tu.moves[1])|c.owedStores&tu.moves[3] != 0 {
			set |= c.bit
		}
	}
	return set
}

// stepped records mv's step for the CPUs that wait for it in a loop. An interrupted CPU
// continues with the handler.
func (tu *turns) stepped(mv sim.Mover) {
	m := tu.m
	if mv >= sim.MoverSource {
		if mv >= sim.MoverDrain { // storesMove does it, or nothing moves
			return
		}
		if c := m.irqs.sources[mv-sim.MoverSource].cpu; c != nil && c.owed|c.owedStores != 0 {
			c.owed, c.owedStores = 0, 0
			m.foot.touchSpin(c)
			tu.again()
		}
		return
	}
	c := &m.cpus.list[mv%sim.MaxCPUs]
	if mv >= sim.MoverIPI {
		c.owed, c.owedStores = 0, 0
	}
	for i := range m.cpus.list {
		d := &m.cpus.list[i]
		if d == c || d.beside&c.bit != 0 && d.owed&c.bit == 0 {
			continue
		}
		d.beside |= c.bit
		m.foot.touchSpin(d)
		if d.owed &^= c.bit; d.owed == 0 {
			tu.again()
		}
	}
}

// storesMove records that a store of c has taken effect, for the CPUs that wait in a loop.
func (tu *turns) storesMove(c *CPU) {
	m := tu.m
	for i := range m.cpus.list {
		if d := &m.cpus.list[i]; d.storesBeside&c.bit == 0 || d.owedStores&c.bit != 0 {
			d.storesBeside |= c.bit
			d.owedStores &^= c.bit
			m.foot.touchSpin(d)
		}
	}
	tu.again()
}
