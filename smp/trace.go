package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Tracer is told of each instruction of guest text before a CPU executes it, and of each
// access to memory that the instruction makes: not of its fetch, nor of what the hardware
// does by itself (the frame of a trap). It changes nothing.
type Tracer interface {
	Instruction(cpu uint8, in arch.Inst, regs *arch.Regs)
	Access(cpu uint8, a arch.Addr, size int, store bool)
}

// Trace makes t be told of the instructions of each run from the next Reset on; nil ends
// that. Nothing else changes, no event and no question. An instruction that faults has
// been told of, too. A machine that is observed isn't traced.
func (m *Machine) Trace(t Tracer) {
	m.tracer.to = t
	m.tracer.cells, _ = t.(CellTracer)
}

// A tracing passes on what a Tracer is told: it is memory as instructions access it.
type tracing struct {
	to    Tracer
	cells CellTracer // the same, if it is one; else nil
	m     *Machine
	arch.Memory
}

// begin puts it before the memory of a run, and before what CPUs hold.
func (t *tracing) begin(m *Machine) {
	if t.to != nil {
		t.Memory = m.mem.own
		m.mem.own = t
	}
}

// Load implements arch.Memory.
func (t *tracing) Load(a arch.Addr, size int) (uint64, bool) {
	v, ok := t.Memory.Load(a, size)
	if ok {
		t.to.Access(t.m.mem.cpu, a, size, false)
	}
	return v, ok
}

// Store implements arch.Memory.
func (t *tracing) Store(a arch.Addr, size int, v uint64) bool {
	ok := t.Memory.Store(a, size, v)
	if ok {
		t.to.Access(t.m.mem.cpu, a, size, true)
	}
	return ok
}

// System is that of the memory behind it.
func (t *tracing) System() *system { return t.Memory.(interface{ System() *system }).System() }

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
func (t *tracing) tellCell(c *CPU, op CellOp, id kapi.CellID, b kapi.Barrier, back int) {
	if t.cells == nil {
		return
	}
	a := CellAccess{Op: op, CPU: c.id, ID: id, Back: back}
	if b != t.m.weak.dropped {
		a.Order = b.Order()
	}
	t.cells.Cell(a)
}

// tellHandOver likewise, of what one CPU hands to another.
func (t *tracing) tellHandOver(op CellOp, from, to uint8) {
	if t.cells != nil {
		t.cells.Cell(CellAccess{Op: op, CPU: from, To: to})
	}
}
