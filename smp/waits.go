package smp

import (
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A waiter is the part of a context that says what it waits for.
type waiter struct {
	cond    kapi.Cond // the condition it waits for, nil: none
	wait    waiting   // what kind of mover can end the wait: the default schedule runs it
	waitFor *Source   // for waitWork: the work's source
}

// Waits are the routines that wait until a condition on a cell holds.
type Waits struct {
	m       *Machine
	list    []*Ctx
	on      [256]uint8 // how many routines wait on a cell, by the low bits of its number
	recheck bool       // a cell was stored that a routine may wait for
}

// Waits returns the routines that wait.
func (m *Machine) Waits() *Waits { return &m.waits }

func (ws *Waits) reset() {
	ws.list, ws.recheck = ws.list[:0], false
	clear(ws.on[:])
}

// letGo ends the waits whose condition now holds. A waiter continues at the time of the store,
// however long the storing CPU runs before others may.
func (ws *Waits) letGo() {
	m := ws.m
	ws.recheck = false
	kept := ws.list[:0]
	for _, x := range ws.list {
		if !x.cond.Holds() {
			kept = append(kept, x)
			continue
		}
		ws.on[uint8(x.cond.Cell())]--
		m.foot.touch(objCell, uint64(x.cond.Cell()), true)
		x.cond = nil
		if x.cpu.hot.pushes && x.task.state == sleeping && !x.task.stays(x.cpu) {
			m.tasks.fallback(x.task)
		}
		m.turns.attend(x.cpu)
		if x.task.state != sleeping {
			m.time.catchUp(x.cpu, m.time.stored)
		} else {
			m.time.bringQueue(&m.cpus.list[m.time.spender], x.cpu)
			x.task.woken = m.time.stored
			x.task.state = runnable
			m.emit(x.cpu, smpev.Wake, uint64(x.task.ID), 0, 0)
			x.cpu.enqueue(m, x.task)
		}
	}
	ws.list = kept
}

// Notify says that a hook has set a cell without a yield point.
func (ws *Waits) Notify(id kapi.CellID) {
	m := ws.m
	if ws.on[uint8(id)] != 0 {
		ws.recheck, m.time.stored = true, m.time.Now()
		m.turns.again()
	}
}

// sleep gives up the CPU until a condition holds.
func (ws *Waits) sleep(x *Ctx, w kapi.Cond, why waiting, s *Source) {
	x.MightSleep()
	x.yield()
	t := x.task
	if w == kapi.Yield {
		x.m.tasks.schedule(x.cpu, true)
		x.give()
		return
	}
	x.m.weak.awaits(x, w.Cell())
	ws.touch(x, w.Cell())
	if w.Holds() {
		return
	}
	if x.m.weak.drainAll(x) { // the fence of set_current_state(); the routine looks again after it
		ws.touch(x, w.Cell())
		if w.Holds() {
			return
		}
	}
	t.state = sleeping
	ws.add(x, w, why, s)
	x.m.tasks.schedule(x.cpu, true)
	x.give()
	x.looking = false
	x.m.weak.seesNewest(x.cpu, w.Cell())
	ws.touch(x, w.Cell()) // the CPU that stored it has let this one go on
}

// spin waits without giving up the CPU. If the condition lasts once it holds, a run can't
// tell whether the CPU saw it at once or waited. So with atomic interrupts the CPU looks in
// the step in which it arrived, and touches the cell only when it continues.
func (ws *Waits) spin(x *Ctx, w kapi.Cond, why waiting, lasts bool) {
	atomic := lasts && x.m.foot != nil && x.m.foot.atomicIRQs && !x.prompt
	if atomic {
		x.m.time.spend(x.cpu.id, cycles.Point, 1)
		atomic = x.m.turns.unasked(x.cpu)
	}
	if !atomic {
		x.yield()
	}
	x.m.weak.awaits(x, w.Cell())
	holds := w.Holds()
	if holds || !atomic {
		ws.touch(x, w.Cell())
	}
	if holds {
		x.m.weak.seesNewest(x.cpu, w.Cell())
		return
	}
	ws.add(x, w, why, nil)
	x.looking = !atomic // else the step does more than look
	x.give()
	x.looking = false
	ws.touch(x, w.Cell())
	x.m.weak.seesNewest(x.cpu, w.Cell())
}

// touch notes that a wait looks at its cell. All that the routine knows of it
// afterwards is that it went on.
func (ws *Waits) touch(x *Ctx, id kapi.CellID) {
	x.m.foot.touch(objCell, uint64(id), false)
	x.m.time.access(x.cpu, id, kapi.Read)
	if x.m.weak.holds { // else seesNewest reports it
		x.m.tracer.tellCell(x.cpu, CellLoad, id, kapi.Once, 0)
	}
}

// add registers a context as waiting for a condition.
func (ws *Waits) add(x *Ctx, w kapi.Cond, why waiting, s *Source) {
	x.cond, x.wait, x.waitFor, x.looking = w, why, s, true
	x.m.weak.hasten(x.cpu)
	ws.list = append(ws.list, x)
	ws.on[uint8(w.Cell())]++
}
