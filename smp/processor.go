package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
)

// This file holds what each instruction or boundary needs of a processor, whichever it is.

type (
	inst   = arch.Op     // what the machine looks at of a decoded instruction
	system = arch.System // the state of a CPU that a trap doesn't save
)

const (
	chunk  = 8  // the aligned bytes of text that a fetch reads at once, and a store changes at once, at most
	maxLen = 15 // the most bytes an instruction of any processor has
)

// stacksOf returns where stacks begin on a machine of the processor. Below 4 GiB they lie where text
// of 32 bits doesn't reach. All else lies where arch.Arch.Addr says.
func stacksOf(a *arch.Arch) arch.Addr {
	if a.Word < 8 {
		return stackBase32
	}
	return stackBase
}

const stackBase32 arch.Addr = 0xc9000000

// addSystem adds the system state of a CPU to a hash.
func addSystem(h *sim.Hash, y system) {
	var room [32]uint64
	for _, v := range y.Append(room[:0]) {
		h.Add(v)
	}
}
