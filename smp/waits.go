package smp

import (
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

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
