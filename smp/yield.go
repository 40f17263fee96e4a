package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Step implements kapi.Context.
func (x *Ctx) Step(routine string, n int) {
	x.place, x.step = routine, n
	x.yield()
}

// Access implements kapi.Context.
func (x *Ctx) Access(id kapi.CellID, mode kapi.Mode) kapi.Model {
	if x.m.foot != nil {
		x.m.foot.accessCell(x, id, mode)
	} else if !x.prompt && x.held() {
		x.m.time.access(x.cpu, id, mode)
	} else {
		x.yield()
		x.Touch(id, mode) // observing may have begun meanwhile
	}
	if mode == kapi.Write && x.m.waits.on[uint8(id)] != 0 {
		x.m.waits.recheck, x.m.time.stored = true, x.m.time.now[x.cpu.id%sim.MaxCPUs]
		x.m.turns.again()
	}
	return x.m.weak.modelOf(x)
}

// held passes a yield point if it is certain that the routine goes on and no question is put;
// otherwise it returns false. Watched text doesn't matter, because a routine runs no text.
func (x *Ctx) held() bool {
	m, id := x.m, x.cpu.id
	if m.turns.steps >= m.turns.limit || m.turns.p.First != sim.Mover(id) {
		return false
	}
	m.turns.steps++
	m.time.spend(id, cycles.Point, 1)
	return true
}

// yield is a yield point: a boundary at which the CPU may be lost.
func (x *Ctx) yield() {
	if x.prompt || x.held() {
		return
	}
	x.m.time.spend(x.cpu.id, cycles.Point, 1)
	x.mayLose()
}

// yieldOpen is a yield point just after interrupts were turned on while an IPI was pending:
// the IPI is taken right here. It is no step of its own, so it costs nothing. (A task that
// waits for preemption to be turned on is also let in at that place: see PreemptEnable. Other
// movers may as well come at the routine's next access: the order can't be observed.)
func (x *Ctx) yieldOpen() {
	if !x.prompt && !x.held() {
		x.mayLose()
	}
}

// mayLose asks which mover is next; the routine may lose the CPU.
func (x *Ctx) mayLose() {
	m := x.m
	if mv := m.turns.turn(); mv != sim.Mover(x.cpu.id) {
		x.giveWay(mv)
	} else if m.turns.spins {
		m.turns.stepped(mv)
	}
}

// giveWay lets mv move, and returns when the routine's turn has come again.
func (x *Ctx) giveWay(mv sim.Mover) {
	x.driving = true
	x.m.drive(x, mv)
	x.driving = false
	x.m.time.spender, x.m.mem.cpu = x.cpu.id, x.cpu.id
}

// give asks which mover is next after the routine's own state has changed, and
// parks unless that is the routine itself.
func (x *Ctx) give() {
	m := x.m
	m.turns.attend(x.cpu)
	if x.prompt {
		return
	}
	mv := m.turns.turn()
	if mv == sim.Mover(x.cpu.id) && x.cpu.task == x.task && x.cond == nil && x.task.top().ctx == x {
		if m.turns.spins {
			m.turns.stepped(mv)
		}
		return
	}
	x.giveWay(mv)
}

// Sleep implements kapi.Context.
func (x *Ctx) Sleep(w kapi.Cond) { x.m.waits.sleep(x, w, waitOther, nil) }

// SleepForWork is Sleep until the work of s is done. By default the work is done at once.
func (x *Ctx) SleepForWork(w kapi.Cond, s *Source) { x.m.waits.sleep(x, w, waitWork, s) }

// Spin implements kapi.Context.
func (x *Ctx) Spin(w kapi.Cond) { x.m.waits.spin(x, w, waitOther, false) }

// SpinOn is Spin for a condition that, once true, stays true until the CPU has continued.
func (x *Ctx) SpinOn(w kapi.Cond) { x.m.waits.spin(x, w, waitOther, true) }

// SpinForIPI is SpinOn until CPUs have answered an IPI. By default they answer at once.
func (x *Ctx) SpinForIPI(w kapi.Cond) { x.m.waits.spin(x, w, waitIPI, true) }

// MightSleep emits an event that says that a routine that may sleep was entered, and whether
// sleeping is forbidden here (spec 1.10, 1.13).
func (x *Ctx) MightSleep() { x.MightSleepIn(false) }

// MightSleepIn is MightSleep; with forbidden set, sleeping is forbidden for another reason.
func (x *Ctx) MightSleepIn(forbidden bool) {
	x.Emit(smpev.MightSleep, b2u(forbidden || x.Atomic()), 0, 0)
}
