package target

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A Processor is one that a kernel is built for, as scenarios name it.
type Processor uint8

// The processors.
const (
	X8664 Processor = iota
	I386
)

// Words are the names of the processors, by number.
var Words = []string{"x86-64", "i386"}

// Arch is the usual kernel's processor. What it says of breakpoints, branches and flags
// holds for the other one, too, and so do its numbers of the registers that both have.
var Arch = x86.AMD64

// Row returns the row of a processor. whole: what kernels of 32 bits have made of each
// trap frame since 5.3, which has a stack pointer in it.
func (p Processor) Row(whole bool) *arch.Arch {
	switch {
	case p == X8664:
		return x86.AMD64
	case whole:
		return x86.I386
	}
	return x86.I386Short
}

// Linux returns the row of a processor as a kernel's own engine has it, from 5.19 on.
func (p Processor) Linux() *arch.Arch {
	if p == I386 {
		return x86.I386Linux
	}
	return x86.AMD64
}

// Of returns the row of the kernel whose text lies at an address. All text of a 32-bit kernel
// lies in the last 2 GiB below 4 GiB, and none of a 64-bit kernel does.
func Of(at arch.Addr) *arch.Arch {
	if at>>31 == 1 {
		return x86.I386
	}
	return x86.AMD64
}

// Decode decodes the instruction that b begins with, as it stands at an address of text.
func Decode(b []byte, at arch.Addr) (arch.Inst, error) { return Of(at).Decode(b, at) }
