package closure

import (
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
)

// Opcodes of RISC-V, the lowest seven bits of an instruction (vol. 1, "RV32/64G Instruction Set
// Listings").
const (
	riscvLoadFP = 0x07
	riscvFence  = 0x0f
	riscvImm    = 0x13
	riscvAUIPC  = 0x17
	riscvStore  = 0x23
	riscvBranch = 0x63
	riscvJALR   = 0x67
)

// followRISCV knows the addresses that auipc has put into registers. What uses them is the second
// half of a pair: jalr goes there, addi takes the address.
func followRISCV(*Closure, *Function) func(in arch.Inst) (arch.Inst, uint64) {
	var known [32]uint64 // 0: not known
	return func(in arch.Inst) (arch.Inst, uint64) {
		w := in.(*riscv64.Inst).Word()
		rd, rs, funct := w>>7&31, w>>15&31, w>>12&7
		base, imm := known[rs], uint64(int64(int32(w)>>20))
		switch op := w & 0x7f; op {
		case riscvStore, riscvBranch, riscvFence, riscvLoadFP:
			return in, 0
		case riscvAUIPC:
			known[rd] = uint64(in.At()) + uint64(int64(int32(w&^0xfff)))
		case riscvImm:
			if known[rd] = 0; funct == 0 && base != 0 {
				known[rd] = base + imm
				return in, base + imm
			}
		case riscvJALR:
			known[rd] = 0
			if base != 0 {
				flow := arch.FlowCall
				if rd == 0 {
					flow = arch.FlowJump
				}
				return &branch{in, flow, arch.Addr(base + imm)}, 0
			}
		default:
			known[rd] = 0
		}
		known[0] = 0
		return in, 0
	}
}

// specialRISCV reports whether an instruction concerns the machine: a control register, a fence of
// instructions, a wait or a trap.
func specialRISCV(in arch.Inst) bool {
	name := in.(*riscv64.Inst).Name()
	return trapping(in) || strings.HasPrefix(name, "csr") || name == "fence.i" || name == "wfi" ||
		strings.HasPrefix(name, "sfence")
}
