package smp

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
)

// ObserveWhole is Observe for whoever is to see as few conflicts as there are: an
// interrupt whose handler has no point is one step, from its delivery to the
// IRET, and its mover's. Nobody is asked within: the answers there are 0.
//
// That leaves out no order that matters. While the handler runs, its CPU takes
// no interrupt (nothing is whole if there are NMIs). Of what other CPUs do
// meanwhile, an IPI sent to this CPU touches what the delivery does; and with two
// CPUs the only other one is waiting for this handler's answer, or the handler
// answers nobody. The rest commutes with the delivery, which can come later, or
// with the IRET, which can come earlier. Whoever looks whether the CPU is idle
// would see a difference: so nothing is whole there.
//
// A whole interrupt leaves its CPU as it was. It commutes with the CPU's steps,
// unless they change what may be delivered, or where fetches may be stale, since
// an IRET serialises.
func (m *Machine) ObserveWhole(o sim.Observer) {
	m.Observe(o)
	m.prints.whole = m.cfg.Fetch == fetch.Coherent && len(m.cpus) <= 2 &&
		!slices.ContainsFunc(m.sources, func(s *Source) bool { return s.Kind == NMISource })
}

// beginWhole is called when an interrupt has been delivered to c.
func (m *Machine) beginWhole(c *CPU, vec uint8) {
	f := m.foot
	if f != nil && f.whole && c.task != c.idle && c.task.top().ctx.prompt && (vec == smpev.VecCall || vec == smpev.VecTimer) {
		f.inside = c
	}
}

// within goes on with a whole interrupt: it returns the CPU, if that is to move.
func (m *Machine) within() sim.Mover {
	c := m.foot.inside
	t := c.task.top()
	if m.over || c.task != m.foot.stood.task || len(c.task.frames) <= m.foot.stood.frames ||
		t.kind == guest || t.kind == routine && !t.ctx.prompt {
		return sim.NoMover
	}
	if !m.unasked(c) {
		return sim.NoMover
	}
	return m.p.First
}

// unasked passes a boundary at which c is to go on, without asking, if by default
// it would. The step goes on.
func (m *Machine) unasked(c *CPU) bool {
	goes := !m.over && m.look() && m.p.First == sim.Mover(c.id)
	m.again()
	if !goes {
		return false
	}
	if m.steps < m.hold { // what is held is held for questions
		m.hold++
	}
	m.steps++
	return true
}
