package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// Clocks are the CPUs' clocks. Each advances by what the CPU's events cost, and where
// it waits. Times are in cycles.Unit-ths of a cycle.
type Clocks struct {
	m       *Machine
	costs   *cycles.Profile
	lines   *lines                     // nil: costs were never told
	tally   *[sim.MaxCPUs]cycles.Tally // nil: events aren't counted
	now     sim.Clocks
	starts  *[sim.MaxCPUs]sim.Time // what they show when a run begins; nil: 0
	waited  [sim.MaxCPUs]sim.Time  // of that, the time spent waiting
	spender uint8                  // the CPU whose clock an event has moved last
	stored  sim.Time               // when a cell was stored whose waiters are yet to look
}

// Clocks returns the CPUs' clocks.
func (m *Machine) Clocks() *Clocks { return &m.time }

// Costs says what events cost from the next run on: nil the nominal profile; and that
// lines of cache are followed, which they aren't on a machine that nobody has told
// costs: a search has no use for them. It changes no run but of text that reads the
// clock, and of a strategy that follows time.
func (c *Clocks) Costs(p *cycles.Profile) {
	if c.costs = p; p == nil {
		c.costs = cycles.Nominal()
	}
	if c.lines == nil && len(c.m.cpus) > 1 { // a CPU alone pays for none
		c.lines = new(lines)
	}
}

// Start says what the CPUs' clocks show when a run begins, from the next one on: when each
// is switched on. nil: 0, as on a new machine.
func (c *Clocks) Start(at *[sim.MaxCPUs]sim.Time) { c.starts = at }

// resetClocks begins the time of a run.
func (m *Machine) resetClocks() {
	clear(m.time.now[:])
	if m.time.starts != nil {
		copy(m.time.now[:], m.time.starts[:])
	}
	copy(m.time.waited[:], m.time.now[:])
	m.time.spender, m.time.stored = 0, 0
	if m.time.lines != nil {
		m.time.lines.reset()
	}
}

// Count has events counted from now on, those of each CPU apart; nil ends it.
func (c *Clocks) Count(tally *[sim.MaxCPUs]cycles.Tally) { c.tally = tally }

// Clock returns what a CPU's clock shows, in cycles.Unit-ths of a cycle.
func (c *Clocks) Of(cpu int) sim.Time { return c.now[cpu] }

// Spent is what events have cost on a CPU: its clock, but for the time it has waited.
func (c *Clocks) Spent(cpu int) sim.Time { return c.now[cpu] - c.waited[cpu] }

// spend lets a CPU's clock go on by n events.
func (m *Machine) spend(cpu uint8, e cycles.Event, n int) {
	m.time.spender = cpu % sim.MaxCPUs
	m.time.now[m.time.spender] += sim.Time(m.time.costs[e]) * sim.Time(n)
	if m.time.tally != nil {
		m.time.tally[m.time.spender][e] += uint64(n)
	}
}

// Now is what the clock of the CPU shows whose routine has moved last: only routines
// let others go on.
func (c *Clocks) Now() sim.Time { return c.now[c.spender] }

// catchUp takes a CPU to a time at which another one has let it go on: clocks show one
// time, as the time-stamp counters of CPUs do that are reset together (SDM vol. 3,
// 18.17.4), and what has waited can't be back before.
func (m *Machine) catchUp(c *CPU, to sim.Time) {
	if at := m.time.now[c.id]; at < to {
		m.time.now[c.id] = to
		m.time.waited[c.id%sim.MaxCPUs] += to - at
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
