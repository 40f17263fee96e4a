package overlay

import (
	"encoding/binary"

	"kpsim/linux/vmlinux"
)

// Code of riscv64 and arm64 has addresses in two instructions. The first puts the high part into a register, and the
// second names that register and the low part. What comes between is taken to leave the register, so that code may
// be taken for a user that is none.

// Opcodes of RISC-V, the lowest seven bits (vol. 1, "RV32/64G Instruction Set Listings").
const (
	riscvOpcode = 0x7f
	riscvAUIPC  = 0x17
	riscvStore  = 0x23
	riscvLoad   = 0x03
	riscvImm    = 0x13
)

// usersRISCV is port.users. Instructions begin at each half-word, as the low bits say how long they are.
func usersRISCV(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	var high [32]uint64 // 0: not known
	for off := 0; off+4 <= len(s.Data); {
		w, at := binary.LittleEndian.Uint32(s.Data[off:]), s.Addr+uint64(off)
		if w&3 != 3 {
			off += 2
			continue
		}
		off += 4
		base, low := high[w>>15&31], int64(int32(w)>>20)
		switch w & riscvOpcode {
		case riscvAUIPC:
			high[w>>7&31] = at + uint64(int64(int32(w&^0xfff)))
			continue
		case riscvStore:
			low = low&^31 | int64(w>>7&31)
		case riscvLoad, riscvImm:
		default:
			continue
		}
		if base != 0 && base+uint64(low)-v.Addr < v.Size {
			names = l.user(names, at)
		}
	}
	return names
}

// Encodings of Arm (ARM ARM, C4.1): an instruction is one of these if its bits under the mask are.
const (
	armADRP, armADRPMask = 0x90000000, 0x9f000000
	armADR               = 0x10000000             // under the same mask
	armADD, armADDMask   = 0x91000000, 0xffc00000 // add (immediate), of 64 bits, not shifted
	armLDST, armLDSTMask = 0x39000000, 0x3b000000 // loads and stores with an unsigned offset
)

// usersARM is port.users.
func usersARM(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string {
	var pages [32]uint64 // 0: not known
	for off := 0; off+4 <= len(s.Data); off += 4 {
		w, at := binary.LittleEndian.Uint32(s.Data[off:]), s.Addr+uint64(off)
		far := int64(int32(w>>5&0x7ffff<<2|w>>29&3)<<11) >> 11
		to := pages[w>>5&31]
		switch {
		case w&armADRPMask == armADRP:
			pages[w&31] = at&^0xfff + uint64(far<<12)
			continue
		case w&armADRPMask == armADR:
			to = at + uint64(far)
		case to == 0:
			continue
		case w&armADDMask == armADD:
			to += uint64(w >> 10 & 0xfff)
		case w&armLDSTMask == armLDST:
			scale := w >> 30
			if w>>26&1 == 1 && w>>23&1 == 1 { // of 128 bits
				scale |= 4
			}
			to += uint64(w>>10&0xfff) << scale
		default:
			continue
		}
		if to-v.Addr < v.Size {
			names = l.user(names, at)
		}
	}
	return names
}
