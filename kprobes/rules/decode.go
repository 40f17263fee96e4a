package rules

// maxLen is the longest instruction, and the kernel's window on one.
const maxLen = 15

// A window has an instruction's bytes with spare room after them: reading too far is
// detected at the end.
type window [32]byte

// An insn is an instruction as the kernel's decoder sees it.
type insn struct {
	length  uint8
	bad     bool    // the decoder gives up
	forced  bool    // the prefix that makes a hypervisor emulate the next instruction
	addr32  bool    // 67
	cs      bool    // 2e
	opcodes uint8   // number of opcode bytes; 1 after VEX, EVEX and REX2
	op      [3]byte // the opcode
	modrm   byte    // 0 if there is none
	disp    uint8   // offset of the displacement; 0: none that is relative to ip
	imm     int32   // a branch's; 0 if there is none
}

// The classes of bytes that may precede an opcode.
const (
	isOpcode uint8 = iota
	isPrefix       // 26 2e 36 3e 64 65 67 f0
	is66
	isF3
	isF2
	isREX
	isVEX // c4 c5 62
	isREX2
)

var front = newFront()

func newFront() (t [256]uint8) {
	for _, b := range []byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf0} {
		t[b] = isPrefix
	}
	for b := 0x40; b <= 0x4f; b++ {
		t[b] = isREX
	}
	t[0x66], t[0xf3], t[0xf2] = is66, isF3, isF2
	t[0xc4], t[0xc5], t[0x62], t[0xd5] = isVEX, isVEX, isVEX, isREX2
	return t
}

// decoding is the state of one decode.
type decoding struct {
	insn
	t      *opcodes
	w      *window
	i      int
	prefix byte // noPrefix to prefixF2: the last legacy prefix, or VEX's pp
	vex    bool
	wide   bool // operands of 64 bits: W
	half   bool // operands of 16 bits: 66
	attr   attr
}

// decode decodes the first instruction of w.
//
// The kernel's decoder accepts up to four different legacy prefixes, each any number of
// times; a fifth is an opcode. Then comes one REX, or a REX2, or a VEX or EVEX. Of 66,
// f2 and f3 only the very last legacy prefix selects an opcode. The window has 15
// bytes.
func decode(t *opcodes, w *window) insn {
	d := decoding{t: t, w: w}
	d.forcedPrefix()
	if c := front[w[d.i]]; c >= isPrefix && c <= isF2 {
		d.legacyPrefixes()
	}
	d.bad = !d.opcode()
	if !d.bad && d.attr&attrModRM != 0 {
		d.bad = !d.operand()
	}
	if !d.bad {
		d.bad = !d.immediate()
	}
	d.length = uint8(min(d.i, maxLen))
	d.bad = d.bad || d.i > maxLen
	return d.insn
}

// forcedPrefix skips ud2 and the name of Xen ("xen") or KVM ("kvm").
func (d *decoding) forcedPrefix() {
	if d.w[0] != 0x0f || d.w[1] != 0x0b {
		return
	}
	switch string(d.w[2:5]) {
	case "xen", "kvm":
		d.forced, d.i = true, 5
	}
}

func (d *decoding) legacyPrefixes() {
	var seen [4]byte
	n := 0
	last := isOpcode
	for d.i < maxLen {
		b := d.w[d.i]
		c := front[b]
		if c < isPrefix || c > isF2 {
			break
		}
		if n == 0 || b != seen[0] && (n < 2 || b != seen[1]) && (n < 3 || b != seen[2]) && (n < 4 || b != seen[3]) {
			if n == 4 {
				break
			}
			seen[n] = b
			n++
			switch b {
			case 0x2e:
				d.cs = true
			case 0x66:
				d.half = true
			case 0x67:
				d.addr32 = true
			}
		}
		last = c
		d.i++
	}
	if last >= is66 {
		d.prefix = last - is66 + prefix66
	}
}

// opcode reads the bytes between the legacy prefixes and ModRM. false: there is no such
// instruction.
func (d *decoding) opcode() bool {
	switch c := front[d.w[d.i]]; {
	case d.t.bits32: // neither is a prefix
	case c == isREX:
		d.wide = d.w[d.i]&8 != 0
		d.i++
	case c == isREX2 && d.t.rex2:
		return d.opcodeREX2()
	}
	// otherwise les, lds or bound, whose operand is in memory
	if front[d.w[d.i]] == isVEX && (!d.t.bits32 || d.w[d.i+1] >= 0xc0) {
		return d.opcodeVEX()
	}
	d.read()
	if d.op[0] != 0x0f {
		d.attr = d.t.at[map1][noPrefix][d.op[0]]
		return true
	}
	space := map0F
	switch d.read(); d.op[1] {
	case 0x38:
		d.read()
		space = map0F38
	case 0x3a:
		d.read()
		space = map0F3A
	}
	d.attr = d.t.lookup(space, d.prefix, d.op[d.opcodes-1])
	return d.attr&(attrVexOnly|attrEvexOnly) == 0
}

// lookup finds an opcode without VEX: a prefix counts only where one makes a
// difference.
func (t *opcodes) lookup(space int, prefix, op byte) attr {
	a := t.at[space][noPrefix][op]
	if a&attrVariant != 0 && prefix != noPrefix {
		return t.at[space][prefix][op]
	}
	return a
}

// read reads a byte of the opcode.
func (d *decoding) read() {
	d.op[d.opcodes] = d.w[d.i]
	d.opcodes++
	d.i++
}

// opcodeREX2: a payload byte, whose highest bit is the map and bit 3 is W.
func (d *decoding) opcodeREX2() bool {
	payload := d.w[d.i+1]
	d.i += 2
	d.wide = payload&8 != 0
	d.read()
	if payload&0x80 != 0 {
		d.attr = d.t.lookup(map0F, d.prefix, d.op[0])
	} else {
		d.attr = d.t.at[map1][noPrefix][d.op[0]]
	}
	return true
}

// opcodeVEX reads c5 and one more byte, c4 and two, or 62 and three, and the
// opcode (SDM vol. 2, 2.3.5 and 2.7.1).
func (d *decoding) opcodeVEX() bool {
	w := d.w[d.i:]
	var space byte
	d.vex = true
	evex := w[0] == 0x62
	switch {
	case evex:
		space, d.prefix = w[1]&7, w[2]&3
		d.wide = d.wide || w[3]&0x80 != 0 && !d.t.bits32 // this is bit z, but the kernel reads W here
		d.i += 4
	case w[0] == 0xc4:
		space, d.prefix = w[1]&31, w[2]&3
		d.wide = d.wide || w[2]&0x80 != 0 && !d.t.bits32
		d.i += 3
	default:
		space, d.prefix = map0F, w[1]&3
		d.i += 2
	}
	d.read()
	if space == map1 || space >= maps {
		return false
	}
	t := &d.t.at[space]
	d.attr = t[noPrefix][d.op[0]]
	if d.attr&groupMask == 0 {
		d.attr = t[d.prefix][d.op[0]]
	}
	if d.attr&attrScalable != 0 && d.prefix == prefix66 && w[2]&0x80 == 0 {
		d.half, d.wide = true, false
	}
	if d.attr&attrEvexOnly != 0 && !evex {
		return false
	}
	return d.attr&(attrVex|groupMask) != 0
}

// operand reads ModRM, SIB and displacement (SDM vol. 2, 2.1.3). false: the group has
// no such instruction; a decoder that gives no errors continues.
func (d *decoding) operand() bool {
	d.modrm = d.w[d.i]
	d.i++
	exists := true
	if d.attr&groupMask != 0 {
		d.attr = d.t.group(d.attr, d.modrm>>3&7, d.prefix)
		exists = !d.vex || d.attr&attrVex != 0
	}
	mod, rm := d.modrm>>6, d.modrm&7
	switch {
	case mod == 3:
		return exists
	case d.t.bits32 && d.addr32: // which makes them 16 bits here
		if mod == 2 || mod == 0 && rm == 6 {
			d.i += 2
		}
		d.i += int(mod & 1)
		return exists
	}
	base := byte(0)
	if rm == 4 {
		base = d.w[d.i] & 7
		d.i++
	}
	switch {
	case mod == 1:
		d.i++
	case mod == 2, base == 5:
		d.i += 4
	case rm == 5:
		if !d.t.bits32 { // there it is an address
			d.disp = uint8(d.i)
		}
		d.i += 4
	}
	return exists
}

// immediate reads the bytes after the operand. false: there is no such immediate, a far
// pointer with 64 bits.
func (d *decoding) immediate() bool {
	w := d.w[d.i&31:]
	switch d.attr & immMask {
	case imm0:
	case immB:
		d.imm = int32(int8(w[0]))
		d.i++
	case immW:
		d.i += 2
	case immD:
		d.immediate32(w)
	case immZ:
		if d.half && !d.wide {
			d.imm = int32(int16(uint16(w[0]) | uint16(w[1])<<8))
			d.i += 2
			break
		}
		d.immediate32(w)
	case immV:
		d.i += d.operandSize()
	case immWB:
		d.i += 3
	case immP:
		if d.wide {
			return false
		}
		d.i += d.operandSize() + 2
	case immO:
		n := 8
		if d.t.bits32 {
			n = 4
		}
		if d.addr32 {
			n /= 2
		}
		d.i += n
	}
	return true
}

func (d *decoding) immediate32(w []byte) {
	if len(w) >= 4 {
		d.imm = int32(w[0]) | int32(w[1])<<8 | int32(w[2])<<16 | int32(w[3])<<24
	}
	d.i += 4
}

func (d *decoding) operandSize() int {
	switch {
	case d.wide:
		return 8
	case d.half:
		return 2
	}
	return 4
}
