package x86

import "kpsim/smp/arch"

// What is asked of an instruction now and then: it is read from the bytes
// again, so that an Inst needn't hold it.

// An Encoding is how opcode and prefixes are written.
type Encoding uint8

// The encodings.
const (
	Legacy Encoding = iota // with 0f, 0f 38 or 0f 3a, or none of them
	VEX                    // c4 and c5 (SDM vol. 2, 2.3)
	EVEX                   // 62 (SDM vol. 2, 2.7)
	XOP                    // 8f, of AMD (AMD64 APM vol. 3, 1.2.8)
)

// Prefixes is a set of the prefixes that stand before the opcode. Of f2 and f3
// only the last is in it, of the segment overrides the last of fs and gs, and a
// REX only where it counts: right before the opcode.
type Prefixes uint16

// The prefixes.
const (
	PrefixOpSize   Prefixes = 1 << iota // 66
	PrefixAddrSize                      // 67
	PrefixCS                            // 2e: in 64-bit mode a branch hint at most
	PrefixLock                          // f0
	PrefixRepne                         // f2
	PrefixRep                           // f3
	PrefixFS                            // 64
	PrefixGS                            // 65
	PrefixREX                           // 40 to 4f, in 64-bit mode
	PrefixREXW                          // a REX with W
)

// parse reads the bytes again.
func (in *Inst) parse() layout {
	var w window
	copy(w[:], in.raw[:])
	return parse(&w, in.mode)
}

// Encoding returns how it is written.
func (in *Inst) Encoding() Encoding {
	l := in.parse()
	return Encoding(l.encoding)
}

// Opcode returns the opcode with the bytes that lead to its map: 0xe8, 0x0f84,
// 0x0f38f0, 0x0f3a0f. With VEX, EVEX and XOP the prefix names the map: 1, 2 and 3
// are written as those bytes, another map m as m<<16 | opcode.
func (in *Inst) Opcode() int {
	l := in.parse()
	switch l.space {
	case map1:
		return int(l.op)
	case map0F:
		return 0x0f00 | int(l.op)
	case map0F38:
		return 0x0f3800 | int(l.op)
	case map0F3A:
		return 0x0f3a00 | int(l.op)
	}
	return int(l.space)<<16 | int(l.op)
}

// Group returns ModRM's reg field, 0 to 7, which in a group of instructions
// (SDM vol. 2, table A-6) says which one it is; not ok without ModRM.
func (in *Inst) Group() (reg int, ok bool) {
	if in.modrmPos == 0 {
		return 0, false
	}
	return int(in.raw[in.modrmPos] >> 3 & 7), true
}

// Prefixes returns those before the opcode. VEX, EVEX and XOP aren't among them,
// nor are bits of theirs.
func (in *Inst) Prefixes() Prefixes {
	l := in.parse()
	var p Prefixes
	for _, c := range [...]struct {
		is bool
		p  Prefixes
	}{
		{l.opsize, PrefixOpSize}, {l.addrsize, PrefixAddrSize}, {l.cs, PrefixCS}, {l.lock, PrefixLock},
		{l.rep == 0xf2, PrefixRepne}, {l.rep == 0xf3, PrefixRep}, {l.segment == 0x64, PrefixFS}, {l.segment == 0x65, PrefixGS},
		{l.encoding == legacy && l.rex != 0, PrefixREX}, {l.encoding == legacy && l.rex&rexW != 0, PrefixREXW},
	} {
		if c.is {
			p |= c.p
		}
	}
	return p
}

// masksTraps is for Inst.MasksTraps.
func (l *layout) masksTraps() bool {
	if l.encoding != legacy || l.space != map1 {
		return false
	}
	return l.op == 0x8e && l.reg() == 2 || l.op == 0x17
}

// Emulated reports whether a probe must emulate the instruction, because
// stepping a copy would leave a wrong IP or a wrong interrupt flag: pushf,
// popf, cli, sti, ret, call, jmp, jcc, loop, jrcxz, and call and jmp through a
// register.
func (in *Inst) Emulated() bool { return in.emulated }

func (l *layout) emulated() bool {
	if l.encoding != legacy {
		return false
	}
	switch op := l.op; l.space {
	case map0F:
		return op&0xf0 == 0x80
	case map1:
		switch op {
		case 0x9c, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xfa, 0xfb:
			return true
		case 0xff:
			return !l.isMem() && (l.reg() == 2 || l.reg() == 4)
		}
		return op&0xf0 == 0x70
	}
	return false
}

// Pointers returns the registers that the address of a memory operand which
// ModRM describes is made of, the base first; none if there is no such operand.
func (in *Inst) Pointers() (regs []arch.Reg) {
	if in.mem && in.baseMask != 0 {
		regs = append(regs, arch.Reg(in.baseReg))
	}
	if in.mem && in.indexMul != 0 {
		regs = append(regs, arch.Reg(in.indexReg))
	}
	return regs
}
