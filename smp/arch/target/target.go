package target

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Arch is the kernel's processor.
var Arch = x86.AMD64

// Decode decodes the instruction that b begins with, as it stands at an address.
func Decode(b []byte, at arch.Addr) (arch.Inst, error) { return Arch.Decode(b, at) }
