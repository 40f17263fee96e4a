package isa

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
	rex      byte // the low four bits say WRXB, of VEX and EVEX too

	opsize   bool // 66
	addrsize bool // 67
	cs       bool // 2e
	lock     bool // f0
	rep      byte // the last of f2 and f3, or 0
	segment  byte // 64 or 65, or 0: the others are ignored
}

// An opcodeMap is one of the tables an opcode byte indexes.
type opcodeMap uint8

const (
	map1    opcodeMap = iota // one-byte opcodes
	map0F                    // 0f
	map0F38                  // 0f 38
	map0F3A                  // 0f 3a
	mapNone                  // a map that only VEX or EVEX can name
)

// An encoding is how opcode and prefixes are written.
type encoding uint8

const (
	legacy encoding = iota
	vex
	evex
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

// ripRelative: mod 0, rm 5 (SDM vol. 2, 2.2.1.6).
func (l *layout) ripRelative() bool {
	return l.isMem() && l.mod() == 0 && l.rm() == 5 && l.dispLen == 4
}

// window is an instruction's bytes with room behind, so that the parser needs
// no bounds: the longest tail after 15 prefixes fits.
type window [MaxLen + 17]byte

// parse finds the parts. n is greater than MaxLen if there are too many.
func parse(w *window) (l layout) {
	i := l.prefixes(w)
	i = l.opcode(w, i)
	if l.hasModRM() {
		i = l.operand(w, i)
	}
	l.immPos = uint8(i)
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
		case b&0xf0 == 0x40:
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
	switch b := w[i]; b {
	case 0xc5:
		l.encoding, l.space = vex, map0F
		l.rex = ^w[i+1] >> 5 & rexR
		i += 2
	case 0xc4:
		l.encoding = vex
		l.escape(w[i+1], w[i+2], w[i+1]&0x1f)
		i += 3
	case 0x62:
		l.encoding = evex
		l.escape(w[i+1], w[i+2], w[i+1]&0x07)
		i += 4
	case 0x0f:
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
	}
	l.opPos, l.op = uint8(i), w[i]
	return i + 1
}

// escape reads the inverted RXB, the W and the map of a VEX or EVEX prefix.
func (l *layout) escape(rxb, w, m byte) {
	l.rex = ^rxb>>5&7 | w>>7<<3
	l.space = mapNone
	if m >= 1 && m <= 3 {
		l.space = opcodeMap(m)
	}
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

// bitmap256 is a set of opcode bytes, a bit each, sixteen a row.
type bitmap256 [16]uint16

func (m *bitmap256) has(b byte) bool { return m[b>>4]>>(b&15)&1 != 0 }

// Which opcodes have a ModRM byte: SDM vol. 2, tables. Bit 0 is the
// column x0.
var (
	modrm1 = bitmap256{
		0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0, 0, 0x0a08, 0,
		0xffff, 0, 0, 0, 0x00c3, 0xff0f, 0, 0xc0c0,
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

// immediate returns the length of the bytes behind the operand.
func (l *layout) immediate() uint8 {
	switch {
	case l.space == map0F3A:
		return 1
	case l.space == map1:
		return l.immediate1()
	case l.space != map0F:
		return 0
	}
	switch op := l.op; {
	case op&0xf0 == 0x80 && l.encoding == legacy:
		return 4 // with 66 too: Intel's reading; such a jump isn't executed
	case op >= 0x70 && op <= 0x73, op == 0xc2, op == 0xc4, op == 0xc5, op == 0xc6:
		return 1
	case l.encoding != legacy:
		return 0
	case op == 0x0f, op == 0xa4, op == 0xac, op == 0xba:
		return 1
	}
	return 0
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
		op == 0xc0, op == 0xc1, op == 0xc6, op == 0xcd, op&0xf8 == 0xe0, op == 0xeb:
		return 1
	case op&0xfc == 0xa0: // an address
		if l.addrsize {
			return 4
		}
		return 8
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
		return 4 // with 66 too, as above
	case op == 0xf6 && l.reg() < 2:
		return 1
	case op == 0xf7 && l.reg() < 2:
		return z
	}
	return 0
}
