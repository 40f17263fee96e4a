package x86

import "kpsim/smp/arch"

// Addr and Regs are those of every processor, under the names of this package.
type (
	Addr = arch.Addr
	Regs = arch.Regs
)

// Canonical reports whether bits 63 to 47 are the same: there are four levels
// of paging.
func Canonical(a Addr) bool { return int64(a<<16)>>16 == int64(a) }

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

// Memory is what an instruction reads and writes: size 1, 2, 4 or 8,
// little-endian, any alignment. ok false: the access faults, nothing was done.
// What can be stored to can be loaded.
type Memory interface {
	Load(a Addr, size int) (v uint64, ok bool)
	Store(a Addr, size int, v uint64) (ok bool)

	// System returns the rest of the state of the CPU that executes. Only
	// instructions that need it ask; Clock is then current.
	System() *System
}

// An Outcome says what the machine must do after an instruction.
type Outcome uint8

// The outcomes. The first group: the instruction has completed and IP is behind
// it (or where it went). The second: nothing has changed and IP stands at it.
const (
	Next       Outcome = iota // done; the machine goes on
	Breakpoint                // int3: #BP is a trap, so IP is behind the instruction
	Halt                      // hlt
	Iret                      // iret: what it pops is popped; the CPU serialises and unblocks NMIs
	Serialized                // cpuid, serialize, mov to cr, invlpg, lgdt …: the CPU serialises
	Interrupts                // cli, sti, popf: IF may have changed
	Shadowed                  // sti that has set IF: no interrupt is taken before the next instruction has completed
	Masked                    // mov to ss, pop ss: the next instruction takes no interrupt and no #DB
	SoftInt                   // int n: Vector says which
	DebugTrap                 // int1: #DB as a trap
	Overflow                  // into: #OF as a trap

	Undefined   // #UD: ud2 and its like
	PageFault   // #PF: the machine says where, and makes a #GP of it if the address isn't canonical
	DivideError // #DE
	Protection  // #GP with the error code 0
	Bound       // #BR
	Unsupported // decoded, but this simulator doesn't execute it
)

var outcomeNames = [...]string{"next", "breakpoint", "halt", "iret", "serialized", "interrupts", "shadowed", "masked", "soft-interrupt",
	"debug-trap", "overflow", "undefined", "page-fault", "divide-error", "protection", "bound", "unsupported"}

func (o Outcome) String() string { return outcomeNames[o] }

// Faulted reports whether the instruction has done nothing.
func (o Outcome) Faulted() bool { return o >= Undefined }
