package smp

import (
	"kpsim/smp/arch"
)

// A machine in 32-bit mode: text is decoded as protected-mode code in flat
// segments, addresses and the words of the stack have four bytes, and a trap
// pushes three words. The kernel beside it (package kernel) is that of 64 bits.

// Where things lie in 32-bit mode: above 3 GiB, as the kernel has it.
const (
	TextBase32  arch.Addr = 0xc1000000
	gateBase32  arch.Addr = 0xc2000000
	DataBase32  arch.Addr = 0xc3000000
	stackBase32 arch.Addr = 0xc9000000
)
