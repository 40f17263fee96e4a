package riscv64

// Compressed instructions (vol. 1, "C" chapter). Each stands for a full one, which is what is
// decoded and executed.

// A half is a compressed form. The first that fits is meant.
type half struct {
	name string
	pattern
	syntax string // of the text: see text.go
	// full returns what it stands for, 0 for a reserved encoding.
	full func(c uint32) uint32
}

// A place says where a compressed form has its immediate: which bit of it each of bits 12 down to 2
// of the instruction is. no is none.
type place [11]int8

const no = -1

var (
	placeI        = place{5, no, no, no, no, no, 4, 3, 2, 1, 0}
	placeLoadW    = place{5, 4, 3, no, no, no, 2, 6, no, no, no}
	placeLoadD    = place{5, 4, 3, no, no, no, 7, 6, no, no, no}
	placeLoadWSP  = place{5, no, no, no, no, no, 4, 3, 2, 7, 6}
	placeLoadDSP  = place{5, no, no, no, no, no, 4, 3, 8, 7, 6}
	placeStoreWSP = place{5, 4, 3, 2, 7, 6, no, no, no, no, no}
	placeStoreDSP = place{5, 4, 3, 8, 7, 6, no, no, no, no, no}
	placeAdd4SP   = place{5, 4, 9, 8, 7, 6, 2, 3, no, no, no}
	placeAdd16SP  = place{9, no, no, no, no, no, 4, 6, 8, 7, 5}
	placeUpper    = place{17, no, no, no, no, no, 16, 15, 14, 13, 12}
	placeBranch   = place{8, 4, 3, no, no, no, 7, 6, 2, 1, 5}
	placeJump     = place{11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5}
)

// of gathers the immediate.
func (p *place) of(c uint32) (imm uint32) {
	for i, to := range p {
		if to != no {
			imm |= c >> (12 - i) & 1 << to
		}
	}
	return imm
}

// signed gathers a signed immediate, whose sign is in bit 12 of the instruction.
func (p *place) signed(c uint32) uint32 { return uint32(sext(p.of(c), uint(p[0])+1)) }

// The registers: of five bits, and of three bits for x8 to x15.
func cRD(c uint32) uint32    { return c >> 7 & 31 }
func cRS2(c uint32) uint32   { return c >> 2 & 31 }
func cShort(c uint32) uint32 { return 8 + c>>7&7 }
func cLow(c uint32) uint32   { return 8 + c>>2&7 }

// c3 is a pattern of the quadrant and funct3.
func c3(quadrant, f3 uint32) pattern { return pattern{0xe003, quadrant | f3<<13} }

// Opcodes of floats, which the forms don't have: they are refused.
const (
	opLoadFP  = 0x07
	opStoreFP = 0x27
)

var halves = [...]half{
	// The word of zeroes is defined to be illegal. It stands for the csrrw that assemblers call unimp.
	{"c.unimp", pattern{0xffff, 0}, "", func(uint32) uint32 { return unimp }},
	{"c.addi4spn", c3(0, 0), "d,s,i", func(c uint32) uint32 {
		return unless(placeAdd4SP.of(c) == 0, iType(opImm, 0, cLow(c), 2, placeAdd4SP.of(c)))
	}},
	{"c.fld", c3(0, 1), "D,i(s)", func(c uint32) uint32 {
		return iType(opLoadFP, 3, cLow(c), cShort(c), placeLoadD.of(c))
	}},
	{"c.lw", c3(0, 2), "d,i(s)", func(c uint32) uint32 {
		return iType(opLoad, 2, cLow(c), cShort(c), placeLoadW.of(c))
	}},
	{"c.ld", c3(0, 3), "d,i(s)", func(c uint32) uint32 {
		return iType(opLoad, 3, cLow(c), cShort(c), placeLoadD.of(c))
	}},
	{"c.fsd", c3(0, 5), "T,I(s)", func(c uint32) uint32 {
		return sType(opStoreFP, 3, cShort(c), cLow(c), placeLoadD.of(c))
	}},
	{"c.sw", c3(0, 6), "t,i(s)", func(c uint32) uint32 {
		return sType(opStore, 2, cShort(c), cLow(c), placeLoadW.of(c))
	}},
	{"c.sd", c3(0, 7), "t,i(s)", func(c uint32) uint32 {
		return sType(opStore, 3, cShort(c), cLow(c), placeLoadD.of(c))
	}},

	{"c.nop", pattern{0xffff, uint32(CNop)}, "", func(uint32) uint32 { return Nop }},
	{"c.nop", c3(1, 0).with(31<<7, 0), "i", func(c uint32) uint32 { // a hint
		return iType(opImm, 0, 0, 0, placeI.signed(c))
	}},
	{"c.addi", c3(1, 0), "d,i", func(c uint32) uint32 {
		return iType(opImm, 0, cRD(c), cRD(c), placeI.signed(c))
	}},
	{"c.addiw", c3(1, 1), "d,i", func(c uint32) uint32 {
		return unless(cRD(c) == 0, iType(opImm32, 0, cRD(c), cRD(c), placeI.signed(c)))
	}},
	{"c.li", c3(1, 2), "d,i", func(c uint32) uint32 {
		return iType(opImm, 0, cRD(c), 0, placeI.signed(c))
	}},
	{"c.addi16sp", c3(1, 3).with(31<<7, 2<<7), "d,i", func(c uint32) uint32 {
		return unless(placeAdd16SP.of(c) == 0, iType(opImm, 0, 2, 2, placeAdd16SP.signed(c)))
	}},
	{"c.lui", c3(1, 3), "d,u", func(c uint32) uint32 {
		return unless(placeUpper.of(c) == 0, uType(opLUI, cRD(c), placeUpper.signed(c)))
	}},
	{"c.srli", pattern{0xec03, 0x8001}, "d,h", func(c uint32) uint32 {
		return iType(opImm, 5, cShort(c), cShort(c), placeI.of(c))
	}},
	{"c.srai", pattern{0xec03, 0x8401}, "d,h", func(c uint32) uint32 {
		return iType(opImm, 5, cShort(c), cShort(c), 0x400|placeI.of(c))
	}},
	{"c.andi", pattern{0xec03, 0x8801}, "d,i", func(c uint32) uint32 {
		return iType(opImm, 7, cShort(c), cShort(c), placeI.signed(c))
	}},
	{"c.sub", pattern{0xfc63, 0x8c01}, "d,t", shortR(opReg, 0, 0x20)},
	{"c.xor", pattern{0xfc63, 0x8c21}, "d,t", shortR(opReg, 4, 0)},
	{"c.or", pattern{0xfc63, 0x8c41}, "d,t", shortR(opReg, 6, 0)},
	{"c.and", pattern{0xfc63, 0x8c61}, "d,t", shortR(opReg, 7, 0)},
	{"c.subw", pattern{0xfc63, 0x9c01}, "d,t", shortR(opReg32, 0, 0x20)},
	{"c.addw", pattern{0xfc63, 0x9c21}, "d,t", shortR(opReg32, 0, 0)},
	{"c.j", c3(1, 5), "p", func(c uint32) uint32 { return jType(opJAL, 0, placeJump.signed(c)) }},
	{"c.beqz", c3(1, 6), "s,p", func(c uint32) uint32 {
		return bType(opBranch, 0, cShort(c), 0, placeBranch.signed(c))
	}},
	{"c.bnez", c3(1, 7), "s,p", func(c uint32) uint32 {
		return bType(opBranch, 1, cShort(c), 0, placeBranch.signed(c))
	}},

	{"c.slli", c3(2, 0), "d,h", func(c uint32) uint32 {
		return iType(opImm, 1, cRD(c), cRD(c), placeI.of(c))
	}},
	{"c.fldsp", c3(2, 1), "D,i(s)", func(c uint32) uint32 {
		return iType(opLoadFP, 3, cRD(c), 2, placeLoadDSP.of(c))
	}},
	{"c.lwsp", c3(2, 2), "d,i(s)", func(c uint32) uint32 {
		return unless(cRD(c) == 0, iType(opLoad, 2, cRD(c), 2, placeLoadWSP.of(c)))
	}},
	{"c.ldsp", c3(2, 3), "d,i(s)", func(c uint32) uint32 {
		return unless(cRD(c) == 0, iType(opLoad, 3, cRD(c), 2, placeLoadDSP.of(c)))
	}},
	{"c.jr", pattern{0xf07f, 0x8002}, "s", func(c uint32) uint32 {
		return unless(cRD(c) == 0, iType(opJALR, 0, 0, cRD(c), 0))
	}},
	{"c.mv", pattern{0xf003, 0x8002}, "d,t", func(c uint32) uint32 {
		return rType(opReg, 0, 0, cRD(c), 0, cRS2(c))
	}},
	{"c.ebreak", pattern{0xffff, uint32(CEbreak)}, "", func(uint32) uint32 { return Ebreak }},
	{"c.jalr", pattern{0xf07f, 0x9002}, "s", func(c uint32) uint32 {
		return iType(opJALR, 0, 1, cRD(c), 0)
	}},
	{"c.add", pattern{0xf003, 0x9002}, "d,t", func(c uint32) uint32 {
		return rType(opReg, 0, 0, cRD(c), cRD(c), cRS2(c))
	}},
	{"c.fsdsp", c3(2, 5), "T,I(s)", func(c uint32) uint32 {
		return sType(opStoreFP, 3, 2, cRS2(c), placeStoreDSP.of(c))
	}},
	{"c.swsp", c3(2, 6), "t,i(s)", func(c uint32) uint32 {
		return sType(opStore, 2, 2, cRS2(c), placeStoreWSP.of(c))
	}},
	{"c.sdsp", c3(2, 7), "t,i(s)", func(c uint32) uint32 {
		return sType(opStore, 3, 2, cRS2(c), placeStoreDSP.of(c))
	}},
}

// unimp is csrrw x0,cycle,x0: a write to a register that is read-only.
const unimp = 0xc0001073

// unless returns 0 for a reserved encoding.
func unless(reserved bool, w uint32) uint32 {
	if reserved {
		return 0
	}
	return w
}

// shortR is half.full of an operation of two short registers.
func shortR(op, f3, f7 uint32) func(c uint32) uint32 {
	return func(c uint32) uint32 { return rType(op, f3, f7, cShort(c), cShort(c), cLow(c)) }
}

// findHalf returns the compressed form of an instruction, nil if it has none.
func findHalf(c uint32) *half {
	for i := range halves {
		if h := &halves[i]; c&h.mask == h.value {
			return h
		}
	}
	return nil
}

// expand returns the full instruction that a compressed one stands for, 0 if it is reserved.
func expand(c uint32) uint32 {
	if h := findHalf(c); h != nil {
		return h.full(c)
	}
	return 0
}
