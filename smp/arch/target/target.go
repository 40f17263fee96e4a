// Package target names the processor that the simulated kernel is built for: the row
// of smp/arch that the kernel, its engines, scenarios and pages stand on.
//
// It is no choice made at run time. A second kernel, for another processor, would make
// it a field of the scenario's machine.
package target

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Arch is the kernel's processor.
var Arch = x86.AMD64

// Decode decodes the instruction that b begins with, as it stands at an address.
func Decode(b []byte, at arch.Addr) (arch.Inst, error) { return Arch.Decode(b, at) }
