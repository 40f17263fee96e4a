package arch

// An Op is what a machine looks at of a decoded instruction, whatever the processor. The type of
// a processor's own instructions begins with one.
type Op struct {
	// Run is Inst.Exec, without the way through an interface: a machine executes some 10^8
	// instructions a second. op is the Op it is in.
	Run    func(op *Op, r *Regs, m Memory) Outcome
	Addr   Addr // where it stands
	Len    uint8
	Drains bool // it drains the CPU's store buffer
	Inst   Inst // the whole instruction
}

// Flags of every processor: what a machine asks of Regs.Flags. A processor that has them elsewhere,
// or the other way round, translates them where an instruction or a frame reads or writes its own
// word. Other bits of Flags are the processor's.
const (
	Step uint64 = 1 << 8 // a debug trap follows the next instruction
	IRQ  uint64 = 1 << 9 // interrupts are taken
)

// A System is the state of a CPU that a trap doesn't save. Instructions change it, and a machine at
// few places. What a machine copies or compares is of one processor.
type System interface {
	New() System              // another one, equal to it
	Copy(from System)         // makes it equal to another one
	Same(as System) bool      // but for the clock
	Append([]uint64) []uint64 // all of it but the clock

	SetClock(cycles uint64) // what its counter of cycles shows
	ClockRead() bool        // an instruction has read the counter

	SetFault(a Addr) // of a page fault
	Fault() Addr

	// Switch saves to prev what a kernel keeps by task and takes that of next.
	Switch(prev, next *TaskState)
}

// A TaskState is what a kernel keeps of a System by task.
type TaskState [2]uint64

// Systemic is Memory that knows the CPU whose instruction accesses it. Memory that an instruction is
// executed with must be. Only instructions that need the state ask for it.
type Systemic interface{ System() System }

// A Reserver is Memory for loads that reserve and stores on that condition. A CPU has at most one
// reservation. Another CPU's store to a byte of it breaks it, and so do traps and switches of tasks.
type Reserver interface {
	// Reserve makes n bytes at an address what the CPU has reserved.
	Reserve(a Addr, n int)

	// Reserved ends the CPU's reservation. It reports whether that was good and had these n bytes.
	Reserved(a Addr, n int) bool
}
