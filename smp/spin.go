package smp

import "kpsim/sim"

// A pause says that a CPU waits in a loop until another one has done something (SDM vol.
// 2B, "PAUSE"). Between two pauses of a CPU all others that can go on make a step, as in
// fair scheduling by yields (Musuvathi, Qadeer: Fair Stateless Model Checking, 2008): a
// strategy that prefers the CPU that waits would have it do so for ever. A loop that looks
// again before anything has moved would see what it has seen.

// relax is what a pause of c does. By default the next CPU that can go on does.
func (m *Machine) relax(c *CPU) {
	others := (m.moves[0] | m.moves[1]) &^ c.bit
	c.owed, c.beside = others&^c.beside, 0
	m.spins = true
	m.touchSpin(c)
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
		if c := &m.cpus[i]; c.owed&(m.moves[0]|m.moves[1]) != 0 {
			set |= c.bit
		}
	}
	return set
}

// stepped says that it is mv's step, for those that wait for it in a loop. One that is
// interrupted goes on with the handler.
func (m *Machine) stepped(mv sim.Mover) {
	if mv >= sim.MoverSource {
		if mv == sim.NoMover {
			return
		}
		if c := m.sources[mv-sim.MoverSource].cpu; c != nil && c.owed != 0 {
			c.owed = 0
			m.touchSpin(c)
			m.again()
		}
		return
	}
	c := &m.cpus[mv%sim.MaxCPUs]
	if mv >= sim.MoverIPI {
		c.owed = 0
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
