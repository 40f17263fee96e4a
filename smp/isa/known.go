package isa

// A pattern is an instruction that x86asm fails on or misnames.
type pattern struct {
	text     string
	encoding encoding
	space    opcodeMap
	op       byte
	modrm    byte // under mask
	mask     byte // 0: any, or none
	form     modrmForm
	prefix   byte // 66, f2, f3, 0: none of them, or anyPrefix
}

type modrmForm uint8

const (
	anyForm modrmForm = iota
	regForm
	memForm
)

// anyPrefix is for a pattern that no prefix changes.
const anyPrefix = 0xff

// known are those that x86asm isn't asked about. A text without operands stands
// for all operands.
var known = [...]pattern{
	{"endbr64", legacy, map0F, 0x1e, 0xfa, 0xff, regForm, 0xf3},
	{"endbr32", legacy, map0F, 0x1e, 0xfb, 0xff, regForm, 0xf3},
	{"rdssp", legacy, map0F, 0x1e, 0xc8, 0xf8, regForm, 0xf3},
	{"incssp", legacy, map0F, 0xae, 0xe8, 0xf8, regForm, 0xf3},
	{"clac", legacy, map0F, 0x01, 0xca, 0xff, regForm, 0},
	{"stac", legacy, map0F, 0x01, 0xcb, 0xff, regForm, 0},
	{"encls", legacy, map0F, 0x01, 0xcf, 0xff, regForm, 0},
	{"vmcall", legacy, map0F, 0x01, 0xc1, 0xff, regForm, 0},
	{"vmlaunch", legacy, map0F, 0x01, 0xc2, 0xff, regForm, 0},
	{"vmresume", legacy, map0F, 0x01, 0xc3, 0xff, regForm, 0},
	{"vmxoff", legacy, map0F, 0x01, 0xc4, 0xff, regForm, 0},
	{"vmmcall", legacy, map0F, 0x01, 0xd9, 0xff, regForm, 0},
	{"vmgexit", legacy, map0F, 0x01, 0xd9, 0xff, regForm, 0xf3},
	{"serialize", legacy, map0F, 0x01, 0xe8, 0xff, regForm, 0},
	{"saveprevssp", legacy, map0F, 0x01, 0xea, 0xff, regForm, 0xf3},
	{"setssbsy", legacy, map0F, 0x01, 0xe8, 0xff, regForm, 0xf3},
	{"rdpkru", legacy, map0F, 0x01, 0xee, 0xff, regForm, 0},
	{"wrpkru", legacy, map0F, 0x01, 0xef, 0xff, regForm, 0},
	{"vmread", legacy, map0F, 0x78, 0, 0, anyForm, 0},
	{"vmwrite", legacy, map0F, 0x79, 0, 0, anyForm, 0},
	{"vmptrld", legacy, map0F, 0xc7, 6 << 3, 7 << 3, memForm, 0},
	{"vmclear", legacy, map0F, 0xc7, 6 << 3, 7 << 3, memForm, 0x66},
	{"vmxon", legacy, map0F, 0xc7, 6 << 3, 7 << 3, memForm, 0xf3},
	{"vmptrst", legacy, map0F, 0xc7, 7 << 3, 7 << 3, memForm, 0},
	{"rdseed", legacy, map0F, 0xc7, 7 << 3, 7 << 3, regForm, 0},
	{"rdpid", legacy, map0F, 0xc7, 7 << 3, 7 << 3, regForm, 0xf3},
	{"senduipi", legacy, map0F, 0xc7, 6 << 3, 7 << 3, regForm, 0xf3},
	{"clwb", legacy, map0F, 0xae, 6 << 3, 7 << 3, memForm, 0x66},
	{"clflushopt", legacy, map0F, 0xae, 7 << 3, 7 << 3, memForm, 0x66},
	{"tpause", legacy, map0F, 0xae, 6 << 3, 7 << 3, regForm, 0x66},
	{"umonitor", legacy, map0F, 0xae, 6 << 3, 7 << 3, regForm, 0xf3},
	{"umwait", legacy, map0F, 0xae, 6 << 3, 7 << 3, regForm, 0xf2},
	{"ptwrite", legacy, map0F, 0xae, 4 << 3, 7 << 3, anyForm, 0xf3},
	{"wbnoinvd", legacy, map0F, 0x09, 0, 0, anyForm, 0xf3},
	{"adcx", legacy, map0F38, 0xf6, 0, 0, anyForm, 0x66},
	{"adox", legacy, map0F38, 0xf6, 0, 0, anyForm, 0xf3},
	{"wrss", legacy, map0F38, 0xf6, 0, 0, memForm, 0},
	{"wruss", legacy, map0F38, 0xf5, 0, 0, memForm, 0x66},
	{"invept", legacy, map0F38, 0x80, 0, 0, memForm, 0x66},
	{"invvpid", legacy, map0F38, 0x81, 0, 0, memForm, 0x66},
	{"vzeroupper", vex, map0F, 0x77, 0, 0, anyForm, anyPrefix},
}

// fallback are those which x86asm knows in most of their forms: they are looked
// at when it has failed.
var fallback = [...]pattern{
	{"nop", legacy, map0F, 0x0d, 0, 0, memForm, anyPrefix},
	{"nop", legacy, map0F, 0x18, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x19, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1a, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1b, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1c, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1d, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1e, 0, 0, anyForm, anyPrefix},
	{"nop", legacy, map0F, 0x1f, 0, 0, anyForm, anyPrefix},
	{"ud1", legacy, map0F, 0xb9, 0, 0, anyForm, anyPrefix},
	{"ud0", legacy, map0F, 0xff, 0, 0, anyForm, anyPrefix},
	// The second encodings of test and shl, which every processor takes.
	{"test", legacy, map1, 0xf6, 1 << 3, 7 << 3, anyForm, anyPrefix},
	{"test", legacy, map1, 0xf7, 1 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xc0, 6 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xc1, 6 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xd0, 6 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xd1, 6 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xd2, 6 << 3, 7 << 3, anyForm, anyPrefix},
	{"shl", legacy, map1, 0xd3, 6 << 3, 7 << 3, anyForm, anyPrefix},
}

// find returns 1 + the index of the pattern in list that l fits, or 0.
func (l *layout) find(list []pattern) uint8 {
	for i := range list {
		if p := &list[i]; p.op == l.op && p.space == l.space && p.encoding == l.encoding && p.fits(l) {
			return uint8(i + 1)
		}
	}
	return 0
}

// known finds what isn't asked of x86asm.
func (l *layout) known() uint8 {
	if l.space == map1 {
		return 0
	}
	return l.find(known[:])
}

// fallback finds what x86asm has failed on. Its numbers go on where known's end.
func (l *layout) fallback() uint8 {
	if i := l.find(fallback[:]); i != 0 {
		return uint8(len(known)) + i
	}
	return 0
}

// patternText is the text of what known or fallback found.
func patternText(i uint8) string {
	n := int(i) - 1
	if n < len(known) {
		return known[n].text
	}
	return fallback[n-len(known)].text
}

// absent reports opcodes that x86asm takes and 64-bit processors don't have:
// mov to and from test registers.
func (l *layout) absent() bool {
	return l.encoding == legacy && l.space == map0F && l.op >= 0x24 && l.op <= 0x27
}

func (p *pattern) fits(l *layout) bool {
	prefix := l.rep
	if prefix == 0 && l.opsize {
		prefix = 0x66
	}
	switch {
	case p.prefix != anyPrefix && p.prefix != prefix, l.modrm&p.mask != p.modrm, l.lock:
		return false
	case p.form == regForm:
		return !l.isMem()
	case p.form == memForm:
		return l.isMem()
	}
	return true
}
