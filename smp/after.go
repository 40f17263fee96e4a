package smp

import (
	"kpsim/sim"
	"kpsim/smp/lkmm"
)

// A routine is Go code, of which the machine doesn't know on which loads an access
// depends, nor which cell is a lock. A routine that interprets another program knows, and
// says so right before the access.

// asSaid is what a routine has said of its next access to a cell.
type asSaid struct {
	on    bool
	lock  bool
	after lkmm.Deps
	load  lkmm.Deps // the load that was made
}

// After says that the context's next access to a cell depends on these loads, and on no
// others (LKMM).
func (x *Ctx) After(d lkmm.Deps) { x.said = asSaid{on: true, after: d} }

// Locks says that the context's next access to a cell takes a lock, by a read-modify-write,
// or gives it back, by a store (LKMM).
func (x *Ctx) Locks() {
	if x.m.weak.versions() {
		x.said = asSaid{on: true, lock: true}
	}
}

// Made returns the load that the context's last access was, for After. It ends what was
// said.
func (x *Ctx) Made() (d lkmm.Deps) {
	if x.said.on {
		d, x.said = x.said.load, asSaid{}
	}
	return d
}

// Views is the machine's memory model under LKMM, for sections and grace periods of RCU
// that the kernel's routines don't make.
func (w *WeakMemory) Views() *lkmm.Model { return &w.views }

// Choose asks which of n ways a routine goes that may go each of them.
func (x *Ctx) Choose(n int) int {
	if n < 2 {
		return 0
	}
	return x.m.turns.ask(sim.Version, n, x.cpu)
}
