package x86

// A layout is where the parts of an instruction lie (SDM vol. 2, chapter 2).
// It says nothing about whether the opcode exists.
type layout struct {
	n        uint8 // length
	opPos    uint8
	modrmPos uint8 // 0: none
	dispPos  uint8
	dispLen  uint8
	immPos   uint8
	immLen   uint8

	space    opcodeMap
	encoding encoding
	op       byte
	modrm    byte
	sib      byte
	suffix   byte // what stands after the operand: 3DNow!'s opcode
	rex      byte // the low four bits say WRXB, of VEX, EVEX and XOP too
	pp       byte // the mandatory prefix: 0 none, 1 66, 2 f3, 3 f2
	vvvv     byte // of VEX, EVEX and XOP: the register, not inverted
	vlen     byte // of VEX and XOP: L; of EVEX: L'L

	mode     Mode
	opsize   bool // 66
	addrsize bool // 67
	cs       bool // 2e
	lock     bool // f0
	rep      byte // the last of f2 and f3, or 0
	segment  byte // 64 or 65, or 0: the others are ignored
	illegal  bool // the prefixes alone make it #UD
}

// An opcodeMap is one of the tables an opcode byte indexes: by its number in
// VEX, EVEX and XOP, whose numbers don't overlap.
type opcodeMap uint8

const (
	map1    opcodeMap = iota // one-byte opcodes
	map0F                    // 0f
	map0F38                  // 0f 38
	map0F3A                  // 0f 3a
	map7    opcodeMap = 7
	mapXOP8 opcodeMap = 8
	mapXOP9 opcodeMap = 9
	mapXOPA opcodeMap = 10
)

// An encoding is how opcode and prefixes are written.
type encoding uint8

const (
	legacy encoding = iota
	vex
	evex
	xop
)

const (
	rexB = 1 << iota
	rexX
	rexR
	rexW
)

func (l *layout) mod() byte { return l.modrm >> 6 }
func (l *layout) reg() byte { return l.modrm >> 3 & 7 }
func (l *layout) rm() byte  { return l.modrm & 7 }

// isMem reports whether ModRM names memory.
func (l *layout) isMem() bool { return l.modrmPos != 0 && l.mod() != 3 }

// ripRelative: mod 0, rm 5 in 64-bit mode (SDM vol. 2, 2.2.1.6).
func (l *layout) ripRelative() bool {
	return l.mode == Mode64 && l.isMem() && l.mod() == 0 && l.rm() == 5 && l.dispLen == 4
}

// window is an instruction's bytes with room after, so that the parser needs
// no bounds: the longest tail after 15 prefixes fits.
type window [MaxLen + 17]byte

// parse finds the parts. n is greater than MaxLen if there are too many.
func parse(w *window, mode Mode) (l layout) {
	l.mode = mode
	i := l.prefixes(w)
	i = l.opcode(w, i)
	if l.hasModRM() {
		i = l.operand(w, i)
	}
	l.immPos, l.suffix = uint8(i), w[i]
	l.immLen = l.immediate()
	l.n = uint8(i) + l.immLen
	return l
}

func (l *layout) prefixes(w *window) int {
	for i := 0; i < MaxLen; i++ {
		switch b := w[i]; {
		case b == 0x66:
			l.opsize = true
		case b == 0x67:
			l.addrsize = true
		case b == 0xf0:
			l.lock = true
		case b == 0xf2, b == 0xf3:
			l.rep = b
		case b == 0x2e:
			l.cs = true
		case b == 0x64, b == 0x65:
			l.segment = b
		case b == 0x26, b == 0x36, b == 0x3e:
		case b&0xf0 == 0x40 && l.mode == Mode64:
			l.rex = b
			continue
		default:
			return i
		}
		l.rex = 0 // a REX that isn't the last prefix is ignored
	}
	return MaxLen
}

func (l *layout) opcode(w *window, i int) int {
	switch b := w[i]; {
	case b == 0xc5 && l.escapes(w[i+1]):
		l.encoding, l.space = vex, map0F
		l.escape(w[i+1]&0x80|0x60, w[i+1]&0x7f)
		i += 2
	case b == 0xc4 && l.escapes(w[i+1]):
		l.encoding, l.space = vex, opcodeMap(w[i+1]&0x1f)
		l.escape(w[i+1], w[i+2])
		i += 3
	case b == 0x62 && l.escapes(w[i+1]):
		l.encoding, l.space = evex, opcodeMap(w[i+1]&0x0f)
		l.escape(w[i+1], w[i+2])
		l.vlen = w[i+3] >> 5 & 3
		l.illegal = l.illegal || w[i+2]&4 == 0
		i += 4
	case b == 0x8f && w[i+1]&0x1f >= 8: // otherwise pop: AMD64 APM vol. 3, 1.2.8
		l.encoding, l.space = xop, opcodeMap(w[i+1]&0x1f)
		l.escape(w[i+1], w[i+2])
		i += 3
	default:
		i = l.legacyEscape(w, i)
	}
	l.opPos, l.op = uint8(i), w[i]
	return i + 1
}

// escapes reports whether c4, c5 and 62 begin a VEX or EVEX prefix. Outside of
// 64-bit mode they do so only where les, lds and bound would have a register
// (SDM vol. 2, 2.3.5 and 2.7.1).
func (l *layout) escapes(next byte) bool { return l.mode == Mode64 || next >= 0xc0 }

// escape reads the inverted RXB, and W, vvvv, L and pp. Other prefixes that
// take part in the opcode may not stand before (SDM vol. 2, 2.3.2 to 2.3.4).
func (l *layout) escape(rxb, second byte) {
	l.illegal = l.opsize || l.lock || l.rep != 0 || l.rex != 0 || l.space == map1
	l.rex = ^rxb>>5&7 | second>>7<<3
	l.vvvv = ^second >> 3 & 15
	if l.mode == Mode32 {
		l.rex = 0 // eight registers, and W is ignored for general ones
		l.vvvv &= 7
	}
	l.vlen = second >> 2 & 1
	l.pp = second & 3
}

// legacyEscape reads 0f, 0f 38 and 0f 3a, and the mandatory prefix: f2 and f3
// go before 66, the last of the two before the other.
func (l *layout) legacyEscape(w *window, i int) int {
	switch {
	case l.rep == 0xf3:
		l.pp = 2
	case l.rep == 0xf2:
		l.pp = 3
	case l.opsize:
		l.pp = 1
	}
	if w[i] != 0x0f {
		return i
	}
	i++
	l.space = map0F
	switch w[i] {
	case 0x38:
		l.space = map0F38
		i++
	case 0x3a:
		l.space = map0F3A
		i++
	}
	return i
}

// operand reads ModRM, SIB and displacement.
func (l *layout) operand(w *window, i int) int {
	l.modrmPos, l.modrm = uint8(i), w[i]
	i++
	if l.encoding == legacy && l.space == map0F && l.op >= 0x20 && l.op <= 0x23 {
		l.modrm |= 0xc0 // mov to and from control and debug registers: mod is ignored
	}
	if l.mod() == 3 {
		return i
	}
	if l.addrSize() == 2 {
		return l.operand16(i)
	}
	base := l.rm()
	if base == 4 {
		l.sib = w[i]
		base = l.sib & 7
		i++
	}
	switch {
	case l.mod() == 1:
		l.dispLen = 1
	case l.mod() == 2, base == 5:
		l.dispLen = 4
	}
	l.dispPos = uint8(i)
	return i + int(l.dispLen)
}

// operand16 is operand where addresses have 16 bits (SDM vol. 2, table 2-1).
func (l *layout) operand16(i int) int {
	switch {
	case l.mod() == 1:
		l.dispLen = 1
	case l.mod() == 2, l.rm() == 6:
		l.dispLen = 2
	}
	l.dispPos = uint8(i)
	return i + int(l.dispLen)
}

// addrSize is the size of an address in bytes.
func (l *layout) addrSize() uint8 {
	if l.mode == Mode32 != l.addrsize {
		return 4
	}
	return 8 >> (2 * l.mode)
}

// bitmap256 is a set of opcode bytes, a bit each, sixteen a row.
type bitmap256 [16]uint16

func (m *bitmap256) has(b byte) bool { return m[b>>4]>>(b&15)&1 != 0 }

// Which opcodes have a ModRM byte: SDM vol. 2, tables. Bit 0 is the
// column x0. What isn't an opcode of the mode has none.
var (
	modrm1 = bitmap256{
		0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0, 0, 0x0a0c, 0,
		0xffff, 0, 0, 0, 0x00f3, 0xff0f, 0, 0xc0c0,
	}
	modrm0F = bitmap256{
		0xa00f, 0xffff, 0xffff, 0, 0xffff, 0xffff, 0xffff, 0xff7f,
		0, 0xffff, 0xf8f8, 0xffff, 0x00ff, 0xffff, 0xffff, 0xffff,
	}
)

func (l *layout) hasModRM() bool {
	switch {
	case l.encoding != legacy:
		return !(l.encoding == vex && l.space == map0F && l.op == 0x77) // vzeroupper, vzeroall
	case l.space == map1:
		return modrm1.has(l.op)
	case l.space == map0F:
		return modrm0F.has(l.op)
	}
	return true
}

// immediate returns the length of the bytes after the operand.
func (l *layout) immediate() uint8 {
	switch l.space {
	case map1:
		return l.immediate1()
	case map0F:
		return l.immediate0F()
	case map0F3A, mapXOP8:
		return 1
	case map7, mapXOPA:
		return 4
	}
	return 0
}

func (l *layout) immediate0F() uint8 {
	switch op := l.op; {
	case op >= 0x70 && op <= 0x73, op == 0xc2, op == 0xc4, op == 0xc5, op == 0xc6:
		return 1
	case l.encoding != legacy:
		return 0
	case op&0xf0 == 0x80:
		return l.near()
	case op == 0x0f, op == 0xa4, op == 0xac, op == 0xba:
		return 1
	case op == 0x78 && l.pp&1 != 0: // extrq, insertq: AMD64 APM vol. 4
		return 2
	}
	return 0
}

// near is the length of a near branch's displacement. In 64-bit mode 66 doesn't
// change it on Intel's processors, and does on AMD's (SDM vol. 2, JMP; AMD64
// APM vol. 3, 1.2.2): it is decoded as Intel's, and not executed.
func (l *layout) near() uint8 {
	if l.opsize && l.mode == Mode32 {
		return 2
	}
	return 4
}

func (l *layout) immediate1() uint8 {
	z := uint8(4) // "Iz": never eight bytes
	if l.opsize && l.rex&rexW == 0 {
		z = 2
	}
	switch op := l.op; {
	case op < 0x40:
		switch op & 7 {
		case 4:
			return 1
		case 5:
			return z
		}
		return 0
	case op == 0x68, op == 0x69, op == 0x81, op == 0xa9, op == 0xc7:
		return z
	case op == 0x6a, op == 0x6b, op&0xf0 == 0x70, op == 0x80, op == 0x82, op == 0x83, op == 0xa8, op&0xf8 == 0xb0,
		op == 0xc0, op == 0xc1, op == 0xc6, op == 0xcd, op == 0xd4, op == 0xd5, op&0xf8 == 0xe0, op == 0xeb:
		return 1
	case op == 0x9a, op == 0xea: // a far address
		return z + 2
	case op&0xfc == 0xa0: // a near one
		return l.addrSize()
	case op&0xf8 == 0xb8:
		if l.rex&rexW != 0 {
			return 8
		}
		return z
	case op == 0xc2, op == 0xca:
		return 2
	case op == 0xc8:
		return 3
	case op == 0xe8, op == 0xe9:
		return l.near()
	case op == 0xf6 && l.reg() < 2:
		return 1
	case op == 0xf7 && l.reg() < 2:
		return z
	}
	return 0
}
