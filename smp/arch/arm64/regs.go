package arm64

import "kpsim/smp/arch"

// Registers beside x0 to x30, which have their own numbers. The number 31 of an encoding is SP in
// some operands and the zero register in others: Decode decides (ARM ARM C1.2, "Register names").
const (
	Platform arch.Reg = 18 // of the shadow call stack, where kernels have one
	FP       arch.Reg = 29
	LR       arch.Reg = 30
	SP       arch.Reg = 31
	ZR       arch.Reg = 32 // reads as zero: an instruction that writes it clears it again
)

// Bits of arch.Regs.Flags. They lie where SPSR_EL1 has them (ARM ARM C5.2, "SPSR_EL1"), but for five:
// D and A lie eight bits higher, for arch.Step and arch.IRQ have their places; PSTATE.I is arch.IRQ
// inverted; PSTATE.SS is arch.Step; BTYPE isn't kept. The mode isn't a flag: it is EL1h.
const (
	FlagN uint64 = 1 << 31
	FlagZ uint64 = 1 << 30
	FlagC uint64 = 1 << 29
	FlagV uint64 = 1 << 28

	FlagTCO  uint64 = 1 << 25
	FlagDIT  uint64 = 1 << 24
	FlagUAO  uint64 = 1 << 23
	FlagPAN  uint64 = 1 << 22
	FlagIL   uint64 = 1 << 20
	FlagSSBS uint64 = 1 << 12

	FlagD uint64 = 1 << 17 // debug exceptions are masked
	FlagA uint64 = 1 << 16 // SErrors are masked
	FlagF uint64 = 1 << 6  // FIQs are masked

	flagsNZCV = FlagN | FlagZ | FlagC | FlagV
	// samePlace are the flags that PSTATE has in the same place.
	samePlace = flagsNZCV | FlagTCO | FlagDIT | FlagUAO | FlagPAN | FlagIL | FlagSSBS | FlagF
)

// Bits of PSTATE that lie elsewhere in Flags.
const (
	psSS   uint64 = 1 << 21
	psD    uint64 = 1 << 9
	psA    uint64 = 1 << 8
	psI    uint64 = 1 << 7
	psDAIF        = psD | psA | psI | FlagF

	modeEL1h uint64 = 5
	modeEL0t uint64 = 0
)

// PState returns the PSTATE of EL1h that flags stand for, as SPSR_EL1 and struct pt_regs have it.
func PState(flags uint64) uint64 {
	p := flags&samePlace | (flags&(FlagD|FlagA))>>8 | modeEL1h
	if flags&arch.IRQ == 0 {
		p |= psI
	}
	if flags&arch.Step != 0 {
		p |= psSS
	}
	return p
}

// FlagsOf returns the flags that stand for a PSTATE. It is PState's inverse, but for the mode.
func FlagsOf(pstate uint64) uint64 {
	f := pstate&samePlace | (pstate&(psD|psA))<<8
	if pstate&psI == 0 {
		f |= arch.IRQ
	}
	if pstate&psSS != 0 {
		f |= arch.Step
	}
	return f
}

// valid reports whether an address of 48 bits can be mapped: TTBR0_EL1 translates those that begin
// with sixteen zeroes, TTBR1_EL1 those that begin with sixteen ones (ARM ARM D8, "VMSAv8-64").
// Tags in the top byte aren't modelled.
func valid(a arch.Addr) bool { return a>>48 == 0 || a>>48 == 0xffff }
