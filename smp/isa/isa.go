package isa

// Addr is a linear address.
type Addr uint64

// A Reg is a general register by its number in the encoding: RAX 0 … R15 15.
type Reg uint8

// The registers by name.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// Flag bits of RFLAGS (SDM vol. 1, "EFLAGS Register").
const (
	CF uint64 = 1 << 0
	F1 uint64 = 1 << 1 // always set
	PF uint64 = 1 << 2
	AF uint64 = 1 << 4
	ZF uint64 = 1 << 6
	SF uint64 = 1 << 7
	TF uint64 = 1 << 8
	IF uint64 = 1 << 9
	DF uint64 = 1 << 10
	OF uint64 = 1 << 11
)

// Regs is what a trap saves: the general registers, the instruction pointer
// and the flags. It is the regs of a probe's handler.
type Regs struct {
	R     [16]uint64
	IP    Addr
	Flags uint64
}

// SP returns the stack pointer.
func (r *Regs) SP() Addr { return Addr(r.R[RSP]) }

// Memory is what an instruction reads and writes: size 1, 2, 4 or 8,
// little-endian, any alignment. ok false: the access faults, nothing was done.
type Memory interface {
	Load(a Addr, size int) (v uint64, ok bool)
	Store(a Addr, size int, v uint64) (ok bool)
}

// An Outcome says what the machine must do after an instruction.
type Outcome uint8

// The outcomes. Next, Breakpoint, Halt, Iret, Serialized, Interrupts: the
// instruction has completed and IP is behind it (or where it went). Undefined,
// PageFault, DivideError, Unsupported: nothing has changed and IP stands at it.
const (
	Next        Outcome = iota // done; the machine goes on
	Breakpoint                 // int3: #BP is a trap, so IP is behind the instruction
	Undefined                  // #UD: ud2 and its like
	PageFault                  // #PF: Fault says where
	DivideError                // #DE
	Halt                       // hlt
	Iret                       // iret: IP, flags and SP are popped; the CPU serialises and unblocks NMIs
	Serialized                 // cpuid, serialize, mov to cr: the CPU serialises
	Interrupts                 // cli, sti, popf: IF may have changed
	Unsupported                // decoded, but this simulator doesn't execute it
)
