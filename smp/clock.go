package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// Costs says what events cost from the next run on: nil the nominal profile. It
// changes no run but of text that reads the clock, and of a strategy that follows
// time.
func (m *Machine) Costs(p *cycles.Profile) {
	if m.costs = p; p == nil {
		m.costs = &cycles.Nominal
	}
}

// Count has events counted from now on, those of each CPU apart; nil ends it.
func (m *Machine) Count(tally *[sim.MaxCPUs]cycles.Tally) { m.tally = tally }

// Clock returns what a CPU's clock shows, in cycles.Unit-ths of a cycle.
func (m *Machine) Clock(cpu int) sim.Time { return m.clocks[cpu] }

// spend lets a CPU's clock go on by n events.
func (m *Machine) spend(cpu uint8, e cycles.Event, n int) {
	m.clocks[cpu%sim.MaxCPUs] += sim.Time(m.costs[e]) * sim.Time(n)
	if m.tally != nil {
		m.tally[cpu%sim.MaxCPUs][e] += uint64(n)
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
