package x86

import "kpsim/smp/arch"

// canonical reports whether bits 63 to 47 are the same: there are four levels
// of paging.
func canonical(a arch.Addr) bool { return int64(a<<16)>>16 == int64(a) }

// The general registers by their numbers in the encoding.
const (
	RAX arch.Reg = iota
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

// SP returns the stack pointer.
func SP(r *arch.Regs) arch.Addr { return arch.Addr(r.R[RSP]) }

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

// system returns the system state of the CPU that executes with m.
func system(m arch.Memory) *System { return m.(arch.Systemic).System().(*System) }
