package kapi

import (
	"kpsim/smp/arch"
	"kpsim/traces"
)

// TaskID numbers the tasks of a machine, from 0, in the order of their creation.
type TaskID uint8

// CellID numbers the cells of a machine, in the order of their creation.
type CellID uint32

// Mode says what an access to a cell does.
type Mode uint8

// The modes of access.
const (
	Read Mode = iota
	Write
)

// A Cond is a condition that a context waits for. It hangs on one cell and is
// evaluated when that cell is stored, so that waiting costs nothing.
type Cond interface {
	Cell() CellID
	Holds() bool
}

// A Context is the thread of control a kernel routine runs in: a task, or an
// interrupt or trap on top of one. The methods marked (point) may lose the CPU.
// A context is valid only while its routine runs.
type Context interface {
	CPU() int
	Task() TaskID

	// Step is a numbered step of a routine (point). routine is a static string.
	Step(routine string, n int)

	// Access announces an access to a cell; the access follows it (point). The returned
	// model decides which value the access meets; nil: the cell's current value.
	Access(id CellID, mode Mode) Model

	// Touch says that the current step reads or writes, without a point, a cell that another
	// CPU may write or read. Searches use it to decide which steps commute. The returned
	// model, as for Access, is asked for each such access.
	Touch(id CellID, mode Mode) Model

	// Mark is Touch where no model is asked: for something that the cell only stands for, or
	// for the newest value.
	Mark(id CellID, mode Mode)

	// Fence keeps the accesses before it and after it in order, as the barrier says. It is
	// no point.
	Fence(b Barrier)

	// Weak reports whether accesses may meet other values than a cell's current one. Then
	// published data must be in cells, too, because other CPUs may see stores late.
	Weak() bool

	// Sleep gives the CPU to another task until w holds: a context switch, so
	// a quiescent state. It may not be called in atomic context (point).
	Sleep(w Cond)

	// Spin keeps the CPU until w holds. Interrupts are taken if they are on;
	// it is no quiescent state (point).
	Spin(w Cond)

	// Call runs guest text at f until it returns, and returns what it left in
	// rax. Every instruction of it is a step of the machine.
	Call(f arch.Addr) uint64

	// Regs are the registers of the CPU as guest text sees them: arguments for
	// Call. (A trap handler gets the saved ones by parameter.)
	Regs() *arch.Regs

	// Memory is memory as this CPU reads and writes it as data, without a
	// point: for the context's own stack and the registers saved on it.
	Memory() arch.Memory

	// PreemptDisable and PreemptEnable nest. RCU's read side is theirs too.
	PreemptDisable()
	PreemptEnable()

	// IRQ turns interrupts of the CPU on or off and returns how they were.
	IRQ(on bool) (was bool)

	// InNMI reports whether the routine runs on top of an NMI: what it has
	// interrupted may hold any lock.
	InNMI() bool

	// Emit logs an event.
	Emit(k traces.Kind, a, b, c uint64)

	// Work prices n units of what the Go code of a routine has just done.
	Work(kind Work, n int)
}

// Yield is a Cond that always holds: x.Sleep(Yield) schedules once (cond_resched
// with another task runnable, schedule() in a runnable state).
var Yield Cond = yield{}

type yield struct{}

func (yield) Cell() CellID { return 0 }
func (yield) Holds() bool  { return true }
