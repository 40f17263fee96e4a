package closure

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// Encodings of Arm (ARM ARM, C4.1): an instruction is one of these if its bits under the mask are.
const (
	armADRP, armADRPMask = 0x90000000, 0x9f000000 // adrp
	armADD, armADDMask   = 0x91000000, 0xffc00000 // add (immediate), of 64 bits, not shifted
)

// followARM knows the pages that adrp has put into registers; add takes an address there.
func followARM(*Closure, *Function) func(in arch.Inst) (arch.Inst, uint64) {
	var known [32]uint64 // 0: not known
	return func(in arch.Inst) (arch.Inst, uint64) {
		w := in.(*arm64.Inst).Word()
		rd := w & 31
		switch {
		case w&armADRPMask == armADRP:
			imm := int64(int32(w>>5&0x7ffff<<2|w>>29&3)<<11) >> 11
			known[rd] = (uint64(in.At()) &^ 0xfff) + uint64(imm<<12)
		case w&armADDMask == armADD:
			if base := known[w>>5&31]; base != 0 {
				return in, base + uint64(w>>10&0xfff)
			}
		}
		return in, 0
	}
}

// specialARM reports whether an instruction concerns the machine: a system register, a cache, a
// barrier of instructions, a wait or a trap.
func specialARM(in arch.Inst) bool {
	switch mnemonic(in) {
	case "MRS", "MSR", "DC", "IC", "ISB", "TLBI", "AT", "WFI", "WFE", "mrs", "msr", "dc", "ic", "isb", "tlbi", "at",
		"wfi", "wfe":
		return true
	}
	return trapping(in)
}
