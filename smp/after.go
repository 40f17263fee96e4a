package smp

import (
	"kpsim/sim"
	"kpsim/smp/lkmm"
)

// A routine is Go code: the machine doesn't know which loads an access depends on, nor
// which cell is a lock. A routine that interprets another program knows both, and declares
// them just before the access.

// said is what a routine has declared about its next access to a cell.
type said struct {
	on    bool
	lock  bool
	after lkmm.Deps
	load  lkmm.Deps // the load made by the last access
}

// After declares that the context's next access to a cell depends on exactly these loads
// (LKMM).
func (s *said) After(d lkmm.Deps) { *s = said{on: true, after: d} }

// Locks declares that the context's next access to a cell takes a lock, by a
// read-modify-write, or releases it, by a store (LKMM).
func (x *Ctx) Locks() {
	if x.m.weak.versions() {
		x.said = said{on: true, lock: true}
	}
}

// Made returns the load made by the context's last access, for After. It clears the
// declarations of After and Locks.
func (s *said) Made() (d lkmm.Deps) {
	if s.on {
		d, *s = s.load, said{}
	}
	return d
}

// Views is the machine's memory model under LKMM, for sections and grace periods of RCU
// that the kernel's routines don't make.
func (w *WeakMemory) Views() *lkmm.Model { return &w.views }

// Choose asks the strategy which of n possible ways the routine takes.
func (x *Ctx) Choose(n int) int {
	if n < 2 {
		return 0
	}
	return x.m.turns.ask(sim.Version, n, x.cpu)
}
