package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// Step implements kapi.Context.
func (x *Ctx) Step(routine string, n int) {
	x.place, x.step = routine, n
	x.yield()
}

// Access implements kapi.Context.
func (x *Ctx) Access(id kapi.CellID, mode kapi.Mode) {
	if x.m.foot != nil {
		x.yieldBefore(objCell, uint64(id), mode == kapi.Write)
		x.bring(id, mode)
	} else if x.held() {
		x.bring(id, mode)
	} else {
		x.yield()
		x.Touch(id, mode) // it may be observed since
	}
	if mode == kapi.Write && x.m.waitOn[uint8(id)] != 0 {
		x.m.recheck, x.m.time.stored = true, x.m.time.now[x.cpu.id%sim.MaxCPUs]
		x.m.again()
	}
}

// held passes a yield point at which the routine goes on and no question is put. It
// returns false if that isn't known. A routine stands before no text.
func (x *Ctx) held() bool {
	m := x.m
	if m.steps >= m.limit || m.p.First != sim.Mover(x.cpu.id) || x.prompt {
		return false
	}
	m.steps++
	m.spend(x.cpu.id, cycles.Point, 1)
	return true
}

// yield is a yield point: a boundary at which the CPU may be lost.
func (x *Ctx) yield() {
	if x.prompt || x.held() {
		return
	}
	m := x.m
	m.spend(x.cpu.id, cycles.Point, 1)
	if mv := m.turn(); mv != sim.Mover(x.cpu.id) {
		x.giveWay(mv)
	}
}

// giveWay lets mv move, and returns when the routine's turn has come again.
func (x *Ctx) giveWay(mv sim.Mover) {
	x.driving = true
	x.m.drive(x, mv)
	x.driving = false
	x.m.time.spender = x.cpu.id
}

// park goes back to where the routine was resumed, and returns when it is
// resumed again: then it is its turn.
func (x *Ctx) park() {
	x.driving = false
	x.m.parks++
	x.host.fibre.Park()
}

// give asks who moves next after the routine's own state has changed, and
// parks unless that is the routine itself.
func (x *Ctx) give() {
	m := x.m
	m.attend(x.cpu)
	if x.prompt {
		return
	}
	mv := m.turn()
	if mv == sim.Mover(x.cpu.id) && x.cpu.task == x.task && x.cond == nil && x.task.top().ctx == x {
		return
	}
	x.giveWay(mv)
}
