package smp

import (
	"kpsim/sim"
)

// Interactive drives a machine by hand: its run pauses where it would end.
type Interactive struct {
	m *Machine

	// Pause is called at a boundary where the run would end because the budget is
	// out or nothing can move. It may inspect the machine, wake tasks and set the
	// budget anew. It returns true to let the run go on.
	Pause func() (goOn bool)
}

// Interactive returns what drives the machine by hand.
func (m *Machine) Interactive() *Interactive { return &m.interactive }

// pause calls Pause and reports whether the run goes on.
func (m *Machine) pause() bool {
	if pause := m.interactive.Pause; pause == nil || m.over || !pause() {
		return false
	}
	m.again()
	return true
}

// SetBudget makes the run pause, or end, after n boundaries in all. It may be
// called from a routine.
func (d *Interactive) SetBudget(n uint64) {
	d.m.cfg.Budget = n
	d.m.again()
}

// Budget returns after how many boundaries in all the run pauses, or ends.
func (d *Interactive) Budget() uint64 { return d.m.cfg.Budget }

// Moving reports whether a run would go on: something can move, or a waiter has yet
// to look at its condition.
func (d *Interactive) Moving() bool {
	moves := d.m.inspector.Moves()
	return d.m.recheck || moves[0]|moves[1] != 0 || d.m.worthFiring(moves[2])
}

// Steps returns how many boundaries there were so far.
func (d *Interactive) Steps() uint64 { return d.m.steps }

// Follow makes t the thread of control that goes on by default.
func (d *Interactive) Follow(t *Task) {
	d.m.lead, d.m.errand = t, nil
	d.m.again()
}

// Can reports whether a mover can make the next step.
func (d *Interactive) Can(mv sim.Mover) bool {
	moves := d.m.inspector.Moves()
	return moves[mv/sim.MaxCPUs]>>(mv%sim.MaxCPUs)&1 != 0
}
