package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Tracer receives each instruction of guest text before a CPU executes it, and each memory
// access that the instruction makes. It doesn't receive fetches, nor accesses that hardware
// makes by itself (the frame of a trap). It changes nothing.
type Tracer interface {
	Instruction(cpu uint8, in arch.Inst, regs *arch.Regs)
	Access(cpu uint8, a arch.Addr, size int, store bool)
}

// Trace reports the instructions of each run to t, from the next Reset on; nil ends that.
// Events and questions don't change. An instruction that faults is reported, too. An observed
// machine isn't traced.
func (m *Machine) Trace(t Tracer) {
	m.tracer.to = t
	m.tracer.cells, _ = t.(CellTracer)
}

// A tracing is memory as instructions access it, reporting to a Tracer.
type tracing struct {
	to    Tracer
	cells CellTracer // the Tracer as a CellTracer, if it is one; else nil
	m     *Machine
	arch.Memory
}

// begin wraps the memory of a run, store buffers included.
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

// System returns the system state from the underlying memory.
func (t *tracing) System() system { return t.Memory.(arch.Systemic).System() }

// A CellTracer also receives cell accesses, in program order, where memory is weak: a CPU's
// own store comes before it takes effect. If memory isn't weak or the run holds no stores,
// it receives nothing.
type CellTracer interface {
	Tracer
	Cell(a CellAccess)
}

// A CellOp is a kind of access to a cell, or of ordering between accesses.
type CellOp uint8

// The operations. A CPU that interrupts another one, or wakes a task there, sends what it has
// seen; the other CPU receives it.
const (
	CellLoad   CellOp = iota
	CellStore         // Back: how many stores remain newer; under TSO smpev.Held says whether it is held
	CellRMW           // a read-modify-write of the newest value
	CellFailed        // a read-modify-write that stores nothing
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
	Order kapi.Order  // the order that the access keeps in this run: none if its barrier is dropped (Drop)
	Back  int         // how many stores are newer than the loaded one
}

// tellCell reports an access to the CellTracer.
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

// tellHandOver reports to the CellTracer that one CPU hands over to another.
func (t *tracing) tellHandOver(op CellOp, from, to uint8) {
	if t.cells != nil {
		t.cells.Cell(CellAccess{Op: op, CPU: from, To: to})
	}
}
