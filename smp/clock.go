package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// Costs says what events cost from the next run on: nil the nominal profile; and that
// lines of cache are followed, which they aren't on a machine that nobody has told
// costs: a search has no use for them. It changes no run but of text that reads the
// clock, and of a strategy that follows time.
func (m *Machine) Costs(p *cycles.Profile) {
	if m.costs = p; p == nil {
		m.costs = cycles.Nominal()
	}
	if m.lines == nil && len(m.cpus) > 1 { // a CPU alone pays for none
		m.lines = new(lines)
	}
}

// Start says what the CPUs' clocks show when a run begins, from the next one on: when each
// is switched on. nil: 0, as on a new machine.
func (m *Machine) Start(at *[sim.MaxCPUs]sim.Time) { m.starts = at }

// resetClocks begins the time of a run.
func (m *Machine) resetClocks() {
	clear(m.clocks[:])
	if m.starts != nil {
		copy(m.clocks[:], m.starts[:])
	}
	copy(m.waited[:], m.clocks[:])
	m.spender, m.stored = 0, 0
	if m.lines != nil {
		m.lines.reset()
	}
}

// Count has events counted from now on, those of each CPU apart; nil ends it.
func (m *Machine) Count(tally *[sim.MaxCPUs]cycles.Tally) { m.tally = tally }

// Clock returns what a CPU's clock shows, in cycles.Unit-ths of a cycle.
func (m *Machine) Clock(cpu int) sim.Time { return m.clocks[cpu] }

// Spent is what events have cost on a CPU: its clock, but for the time it has waited.
func (m *Machine) Spent(cpu int) sim.Time { return m.clocks[cpu] - m.waited[cpu] }

// spend lets a CPU's clock go on by n events.
func (m *Machine) spend(cpu uint8, e cycles.Event, n int) {
	m.spender = cpu % sim.MaxCPUs
	m.clocks[m.spender] += sim.Time(m.costs[e]) * sim.Time(n)
	if m.tally != nil {
		m.tally[m.spender][e] += uint64(n)
	}
}

// Now is what the clock of the CPU shows whose routine has moved last: only routines
// let others go on.
func (m *Machine) Now() sim.Time { return m.clocks[m.spender] }

// catchUp takes a CPU to a time at which another one has let it go on: clocks show one
// time, as the time-stamp counters of CPUs do that are reset together (SDM vol. 3,
// 18.17.4), and what has waited can't be back before.
func (m *Machine) catchUp(c *CPU, to sim.Time) {
	if at := m.clocks[c.id]; at < to {
		m.clocks[c.id] = to
		m.waited[c.id%sim.MaxCPUs] += to - at
	}
}

// delivery is the event that a vector's delivery is.
func delivery(vec uint8) cycles.Event {
	switch vec {
	case smpev.VecBP:
		return cycles.Breakpoint
	case smpev.VecDB:
		return cycles.Debug
	}
	return cycles.Trap
}
