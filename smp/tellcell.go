package smp

import "kpsim/smp/kapi"

// A CellTracer is a Tracer that is told, too, of what a run does with cells where memory is
// weak, in the order in which it is done: a CPU's own store before it takes effect. Where
// memory isn't weak, nor a run holds stores, it is told of nothing.
type CellTracer interface {
	Tracer
	Cell(a CellAccess)
}

// A CellOp is what an access to a cell does, or what orders accesses.
type CellOp uint8

// The operations. A CPU that interrupts another one, or wakes a task there, hands over what
// it has seen; the other takes it over.
const (
	CellLoad   CellOp = iota
	CellStore         // Back: how many stores remain newer; under TSO smpev.Held says whether it is held
	CellRMW           // of the newest value
	CellFailed        // likewise, but it stores nothing
	CellFence         // Order says which
	CellSend          // To is the CPU
	CellTake
)

// A CellAccess is one operation.
type CellAccess struct {
	Op    CellOp
	CPU   uint8
	To    uint8
	ID    kapi.CellID // 0: text, which has a place in the order of cells
	Order kapi.Order  // that it keeps in this run: without one that is left out (Drop)
	Back  int         // how many stores are newer than the one that it loads
}

// tellCell tells a CellTracer.
func (m *Machine) tellCell(c *CPU, op CellOp, id kapi.CellID, b kapi.Barrier, back int) {
	if m.tracer.cells == nil {
		return
	}
	a := CellAccess{Op: op, CPU: c.id, ID: id, Back: back}
	if b != m.weak.dropped {
		a.Order = b.Order()
	}
	m.tracer.cells.Cell(a)
}

// tellHandOver likewise, of what one CPU hands to another.
func (m *Machine) tellHandOver(op CellOp, from, to uint8) {
	if m.tracer.cells != nil {
		m.tracer.cells.Cell(CellAccess{Op: op, CPU: from, To: to})
	}
}
