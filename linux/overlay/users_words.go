package overlay

import (
	"encoding/binary"

	"kpsim/linux/vmlinux"
)

// Code of riscv64, arm64 and ppc64le has addresses in two instructions. The first puts the high part into a
// register, and the second names that register and the low part.

// functions calls visit with the code of each function of a section, and its address.
func (l *linker) functions(s *vmlinux.Section, visit func(code []byte, at uint64)) {
	for _, f := range symbolsFrom(l.im.Symbols(), s.Addr) {
		if f.Addr >= s.Addr+uint64(len(s.Data)) {
			return
		}
		if code := l.im.Bytes(f.Addr, f.Size); code != nil {
			visit(code, f.Addr)
		}
	}
}

// Opcodes of RISC-V, the lowest seven bits (vol. 1, "RV32/64G Instruction Set Listings").
const (
	riscvOpcode = 0x7f
	riscvLoad   = 0x03
	riscvImm    = 0x13
	riscvAUIPC  = 0x17
	riscvStore  = 0x23
	riscvBranch = 0x63
)

// usersRISCV is port.users.
func usersRISCV(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	l.functions(s, func(code []byte, at uint64) {
		var high [32]uint64 // 0: not known
		for len(code) > 0 {
			in, err := l.im.Decode(code, at)
			if err != nil {
				return
			}
			w := in.(interface{ Word() uint32 }).Word()
			base, low, op := high[w>>15&31], uint64(int64(int32(w)>>20)), w&riscvOpcode
			if op == riscvStore {
				low = low&^31 | uint64(w>>7&31)
			}
			if base != 0 && base+low-v.Addr < v.Size && (op == riscvStore || op == riscvLoad || op == riscvImm) {
				names = l.user(names, at)
			}
			switch op {
			case riscvStore, riscvBranch:
			case riscvAUIPC:
				high[w>>7&31] = at + uint64(int64(int32(w&^0xfff)))
			default:
				high[w>>7&31] = 0
			}
			code, at = code[in.Size():], at+uint64(in.Size())
		}
	})
	return names
}

// Encodings of Arm (ARM ARM, C4.1): an instruction is one of these if its bits under the mask are.
const (
	armADR, armADRP, armADRMask = 0x10000000, 0x90000000, 0x9f000000
	armADD, armADDMask          = 0x91000000, 0xffc00000 // add (immediate), of 64 bits, not shifted
	armLDST, armLDSTMask        = 0x39000000, 0x3b000000 // loads and stores with an unsigned offset
	armLoads                    = 3 << 22                // some of these bits are set in loads, and in some stores
)

// usersARM is port.users.
func usersARM(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	l.functions(s, func(code []byte, at uint64) {
		var pages [32]uint64 // 0: not known
		for ; len(code) >= 4; code, at = code[4:], at+4 {
			w := binary.LittleEndian.Uint32(code)
			far := int64(int32(w>>5&0x7ffff<<2|w>>29&3)<<11) >> 11
			to := pages[w>>5&31]
			switch {
			case w&armADRMask == armADRP:
				pages[w&31] = at&^0xfff + uint64(far<<12)
				continue
			case w&armADRMask == armADR:
				to = at + uint64(far)
			case to != 0 && w&armADDMask == armADD:
				to += uint64(w >> 10 & 0xfff)
			case to != 0 && w&armLDSTMask == armLDST:
				scale := w >> 30
				if w>>26&1 == 1 && w>>23&1 == 1 { // of 128 bits
					scale |= 4
				}
				to += uint64(w>>10&0xfff) << scale
			default:
				to = 0
			}
			if to != 0 && to-v.Addr < v.Size {
				names = l.user(names, at)
			}
			if w&armLDSTMask != armLDST || w&armLoads != 0 {
				pages[w&31] = 0
			}
		}
	})
	return names
}

// Primary opcodes of Power, the highest six bits (Power ISA, Book I, 3.3.9), and the register of the TOC.
const (
	ppcADDI, ppcADDIS = 14, 15
	ppcRLWIMI, ppcRLD = 20, 30 // what computes from another register than it writes first: rlwimi to rldicl
	ppcLWZ, ppcLMW    = 32, 46 // loads and stores with a distance of 16 bits, from the first up to lmw
	ppcLD, ppcSTD     = 58, 62 // the lowest two bits aren't the distance's
	ppcStores         = uint64(1)<<36 | 1<<37 | 1<<38 | 1<<39 | 1<<44 | 1<<45 | 1<<ppcSTD
	ppcTOC            = 2
)

// usersPPC is port.users. A variable lies at a distance from the TOC, which two instructions have halves of, or at an
// address that a word of the TOC has; such a word is data.
func usersPPC(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	l.functions(s, func(code []byte, at uint64) {
		var high [32]uint64 // 0: not known
		high[ppcTOC] = l.toc
		for ; len(code) >= 4; code, at = code[4:], at+4 {
			w := binary.LittleEndian.Uint32(code)
			op, rt, base, low := w>>26, w>>21&31, high[w>>16&31], uint64(int64(int16(w)))
			if op == ppcLD || op == ppcSTD {
				low &^= 3
			}
			access := op >= ppcLWZ && op < ppcLMW || op == ppcLD || op == ppcSTD
			if base != 0 && (access || op == ppcADDI) && base+low-v.Addr < v.Size {
				names = l.user(names, at)
			}
			switch {
			case rt == ppcTOC, ppcStores>>op&1 != 0:
			case op == ppcADDIS && w>>16&31 == ppcTOC:
				high[rt] = l.toc + low<<16
			case op >= ppcRLWIMI && op <= ppcRLD:
				high[w>>16&31] = 0
			default:
				high[rt] = 0
			}
		}
	})
	return names
}
