package arch

// Memory is what an instruction reads and writes: size 1, 2, 4 or 8 bytes,
// little-endian, any alignment. ok false: the access faults and nothing was done.
// What can be stored to can be loaded. A processor's own package may ask for more
// by a type assertion.
type Memory interface {
	Load(a Addr, size int) (v uint64, ok bool)
	Store(a Addr, size int, v uint64) (ok bool)
}

// An Inst is a decoded instruction, for code that doesn't belong to a processor.
// It isn't changed.
type Inst interface {
	Operation() *Op
	At() Addr      // where it stands
	Size() int     // in bytes
	Next() Addr    // the address after it
	Bytes() []byte // a copy
	String() string

	Flow() Flow
	Target() (Addr, bool) // where a direct branch or call goes
	IsNop() bool          // it is a nop, of any length

	// IPRelative returns where its displacement lies, as positions [from, to) of its
	// bytes, if it has a memory operand relative to the instruction pointer.
	// IPOperand returns the address of that operand.
	IPRelative() (from, to int, ok bool)
	IPOperand() (Addr, bool)

	// AddressRegs returns the registers that the address of its memory operand is made
	// of. Implied are those that an instruction uses as an address without naming them.
	AddressRegs() []Reg

	// PerCPU reports whether its memory operand is relative to the base of the CPU's
	// own data, PerTask to that of the task's.
	PerCPU() bool
	PerTask() bool

	// Exec executes it. It must stand at r.IP. Either all of it happens or nothing.
	Exec(r *Regs, m Memory) Outcome
}

// Vectored is an Inst that raises a trap of a number of its own (SoftInt).
type Vectored interface{ Vector() uint8 }

// Flow says where control goes after an instruction.
type Flow uint8

// The flows. Only Jump, Cond, Loop and Call have a Target.
const (
	FlowNext         Flow = iota // on to the next instruction
	FlowJump                     // a direct jump
	FlowCond                     // a direct conditional jump
	FlowLoop                     // a direct conditional jump that counts
	FlowCall                     // a direct call
	FlowRet                      // a return
	FlowIndirectJump             // a jump through a register or memory
	FlowIndirectCall             // a call through a register or memory
	FlowTrapReturn               // a return from a trap or interrupt
	FlowBreakpoint               // a breakpoint
	FlowHalt                     // on, after an interrupt
	FlowUndefined                // nowhere: an instruction that always traps
	FlowOther                    // system calls, software interrupts and the like
)

var flowNames = [...]string{"next", "jump", "cond", "loop", "call", "ret", "indirect-jump", "indirect-call", "iret",
	"int3", "halt", "undefined", "other"}

func (f Flow) String() string { return flowNames[f] }

// An Outcome says what the machine must do after an instruction.
type Outcome uint8

// The outcomes. The first group: the instruction has completed and IP is after it
// (or where it went). The second: nothing has changed and IP stands at it.
const (
	Next       Outcome = iota // done; the machine goes on
	Breakpoint                // a breakpoint: a trap, so IP is after it
	Halt                      // wait for an interrupt
	TrapReturn                // it has popped a trap's frame: the CPU serialises and unblocks NMIs
	Relaxed                   // the CPU waits in a loop for what another one does
	Serialized                // the CPU serialises: its next fetch sees the newest text
	Interrupts                // the interrupt flag may have changed
	Shadowed                  // interrupts are on, from after the next instruction
	Masked                    // the next instruction takes no interrupt and no debug trap
	SoftInt                   // a software interrupt: its own package says which vector
	DebugTrap                 // a debug trap
	Overflow                  // an overflow trap

	Undefined   // an undefined instruction
	PageFault   // a page fault: the machine knows where
	DivideError // a division by zero, or a quotient with too many bits
	Protection  // a protection fault
	Bound       // an index out of bounds
	Unsupported // decoded, but this simulator doesn't execute it
	Outcomes
)

var outcomeNames = [Outcomes]string{"next", "breakpoint", "halt", "iret", "relaxed", "serialized", "interrupts",
	"shadowed", "masked", "soft-interrupt",
	"debug-trap", "overflow", "undefined", "page-fault", "divide-error", "protection", "bound", "unsupported"}

func (o Outcome) String() string { return outcomeNames[o] }

// Faulted reports whether the instruction has done nothing.
func (o Outcome) Faulted() bool { return o >= Undefined }
