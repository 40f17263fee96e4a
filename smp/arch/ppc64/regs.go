package ppc64

import (
	"strconv"

	"kpsim/smp/arch"
)

// The registers that code has names for. LR and CTR follow the general ones.
const (
	SP          arch.Reg = 1
	TOC         arch.Reg = 2
	GlobalEntry arch.Reg = 12 // the address of a function that is called through a pointer (ELFv2, 2.2.1.1)
	Paca        arch.Reg = 13
	LR          arch.Reg = 32
	CTR         arch.Reg = 33
)

// regNames are the registers as people write them.
var regNames = func() (list []string) {
	for i := range int(LR) {
		list = append(list, "r"+strconv.Itoa(i))
	}
	return append(list, "lr", "ctr")
}()

// Regs.Flags has CR in its upper half: bit n of CR, which the manual counts from 32 on the left, is bit
// 63 - (n - 32). The lower half has arch.Step (MSR.SE), arch.IRQ (MSR.EE), bits of MSR that a kernel
// keeps by task, and the bits of XER where they stand there (Book I, "Fixed-Point Exception Register").
const (
	flagSO   uint64 = 1 << 31
	flagOV   uint64 = 1 << 30
	flagCA   uint64 = 1 << 29
	flagOV32 uint64 = 1 << 19
	flagCA32 uint64 = 1 << 18
	flagsXER        = flagSO | flagOV | flagCA | flagOV32 | flagCA32

	shiftCA = 29

	flagsCR uint64 = 0xffffffff << 32
)

// Bits of MSR (Book III, "Machine State Register").
const (
	msrLE  uint64 = 1 << 0
	msrRI  uint64 = 1 << 1
	msrDR  uint64 = 1 << 4
	msrIR  uint64 = 1 << 5
	msrSE  uint64 = 1 << 10
	msrME  uint64 = 1 << 12
	msrFP  uint64 = 1 << 13
	msrPR  uint64 = 1 << 14
	msrEE  uint64 = 1 << 15
	msrVSX uint64 = 1 << 23
	msrVEC uint64 = 1 << 25
	msrSF  uint64 = 1 << 63

	// msrFixed are those that are set while a kernel runs.
	msrFixed = msrSF | msrME | msrIR | msrDR | msrLE
	// msrTask stand at the same place in Flags.
	msrTask = msrFP | msrVEC | msrVSX
	// msrVaries are those that instructions change.
	msrVaries = msrTask | msrRI | msrSE | msrEE

	// flagNoRI is MSR.RI inverted: kernels keep it set, but for the ends of trap handlers.
	flagNoRI uint64 = 1 << 11
)

// MSR returns the machine state register that Flags stand for.
func MSR(flags uint64) uint64 {
	v := msrFixed | flags&msrTask
	for _, p := range msrPlaces {
		if flags&p.flag != p.off {
			v |= p.bit
		}
	}
	return v
}

// withMSR returns Flags with those of a value of MSR.
func withMSR(flags, msr uint64) uint64 {
	flags = flags&^msrTask | msr&msrTask
	for _, p := range msrPlaces {
		flags &^= p.flag
		flags |= p.off
		if msr&p.bit != 0 {
			flags ^= p.flag
		}
	}
	return flags
}

// msrPlaces are bits of MSR that stand elsewhere in Flags. off is what the flag is if the bit isn't set.
var msrPlaces = [...]struct{ bit, flag, off uint64 }{
	{msrEE, arch.IRQ, 0}, {msrSE, arch.Step, 0}, {msrRI, flagNoRI, flagNoRI},
}

// The condition that a comparison leaves in a field of CR, beside SO (Book I, "Condition Register").
const (
	crLT uint64 = 8
	crGT uint64 = 4
	crEQ uint64 = 2
	crSO uint64 = 1
)

// shiftCR0 is where CR0 lies in Flags.
const shiftCR0 = 60

// setField sets a field of CR at a place in Flags.
func setField(r *arch.Regs, shift uint8, v uint64) {
	r.Flags = r.Flags&^(15<<(shift&63)) | v<<(shift&63)
}

// condition returns the field that a comparison leaves.
func condition(r *arch.Regs, less, greater bool) uint64 {
	c := crEQ
	if less {
		c = crLT
	} else if greater {
		c = crGT
	}
	return c | r.Flags>>31&1
}
