package rules

import "sync"

// An attr is the kernel decoder's knowledge about an opcode: enough to find the
// instruction's end, and whether prefix and opcode go together.
type attr uint16

const (
	attrModRM    attr = 1 << iota
	attrVex           // may follow a VEX or EVEX prefix
	attrVexOnly       // must
	attrEvexOnly      // must follow an EVEX prefix
	attrScalable      // EVEX.pp = 66 makes its operands 16 bits wide
	attrVariant       // depends on 66, f2, f3: see the variant's entry
)

const (
	immShift         = 6
	immMask     attr = 15 << immShift
	groupShift       = 10
	groupMask   attr = 15 << groupShift
	attrNothing attr = 0 // unknown, or an opcode byte alone
)

// The immediates, by the SDM's letters (vol. 2, A.2.1).
const (
	imm0  attr = iota << immShift
	immB       // 8 bits
	immW       // 16
	immD       // 32
	immZ       // 16 or 32, never 64
	immV       // 16, 32 or 64
	immWB      // 16 and 8: enter
	immP       // a far pointer
	immO       // an address, as wide as addresses are
)

// The groups in which ModRM's reg field changes an attribute.
const (
	group0   attr = iota << groupShift
	group3B       // f6: test has an immediate
	group3V       // f7
	group12       // 0f 71, shifts by an immediate
	group13       // 0f 72
	group14       // 0f 73
	group15       // 0f ae
	group17       // 0f 38 f3, VEX
	group18       // 0f 38 c6 and c7, EVEX
	groupAny      // a group whose members are all alike; after EVEX pp doesn't matter
)

// Whether a vector instruction exists without VEX, and with it.
const (
	legacyOnly = attrModRM
	both       = attrModRM | attrVex
	vexOnly    = attrModRM | attrVex | attrVexOnly
	evexOnly   = attrModRM | attrVex | attrEvexOnly
	scalable   = attrModRM | attrVex | attrEvexOnly | attrScalable
)

// The opcode maps, by VEX.mmmmm.
const (
	map1 = iota
	map0F
	map0F38
	map0F3A
	map4
	map5
	map6
	map7
	maps
)

// The variants that the last legacy prefix, or the pp of VEX, selects.
const (
	noPrefix = iota
	prefix66
	prefixF3
	prefixF2
	prefixes
)

// opcodes are the tables of one kernel's decoder.
type opcodes struct {
	at     [maps][prefixes][256]attr
	groups [16][prefixes][8]attr
	rex2   bool
	bits32 bool // instructions are those of a 32-bit code segment
}

// A row gives attributes to opcodes, which are ranges of two hexadecimal digits.
type row struct {
	space  uint8
	prefix uint8
	attr   attr
	ops    string
}

// A groupRow gives attributes to the reg fields of a group.
type groupRow struct {
	group  attr
	prefix uint8
	attr   attr
	regs   string
}

// The decoder's tables. Each is built when it is first used, and then never written.
var (
	opcodes61  = opcodesOf(false, false, rows)
	opcodes612 = opcodesOf(true, false, rows, rows612)
)

// The tables for i386: branches may be 16 bits long too, and the first bytes of VEX and EVEX may
// be instructions.
var (
	opcodes61i386  = opcodesOf(false, true, rows, rows32)
	opcodes612i386 = opcodesOf(false, true, rows, rows612, rows32)
)

// tables returns the decoder's tables of a kernel.
func (k *Kernel) tables() *opcodes {
	switch late := k.Edition >= Edition69; {
	case late && k.Bits32:
		return opcodes612i386()
	case late:
		return opcodes612()
	case k.Bits32:
		return opcodes61i386()
	}
	return opcodes61()
}

// opcodesOf returns a function that makes a table when it is first called.
func opcodesOf(rex2, bits32 bool, lists ...[]row) func() *opcodes {
	return sync.OnceValue(func() *opcodes { return newOpcodes(rex2, bits32, lists) })
}

func newOpcodes(rex2, bits32 bool, lists [][]row) *opcodes {
	o := &opcodes{rex2: rex2, bits32: bits32}
	for _, list := range lists {
		for _, r := range list {
			o.set(r)
		}
	}
	for space := range o.at {
		o.markVariants(space)
	}
	for _, r := range groupRows {
		for _, reg := range []byte(r.regs) {
			g := &o.groups[r.group>>groupShift]
			g[r.prefix][reg-'0'] = r.attr
			if r.prefix != noPrefix {
				g[noPrefix][reg-'0'] |= attrVariant
			}
		}
	}
	return o
}

// set replaces the attributes of r's opcodes.
func (o *opcodes) set(r row) {
	for s := r.ops; s != ""; {
		from := unhex(s)
		to := from
		if s = s[2:]; s != "" && s[0] == '-' {
			to = unhex(s[1:])
			s = s[3:]
		}
		if s != "" {
			s = s[1:]
		}
		for op := from; op <= to; op++ {
			o.at[r.space][r.prefix][op] = r.attr
		}
	}
}

// markVariants marks the opcodes of a map that have an entry with a prefix.
func (o *opcodes) markVariants(space int) {
	t := &o.at[space]
	for op := range t[noPrefix] {
		if t[prefix66][op]|t[prefixF3][op]|t[prefixF2][op] != 0 {
			t[noPrefix][op] |= attrVariant
		}
	}
}

// unhex parses the two hexadecimal digits at the start of s.
func unhex(s string) int {
	n := 0
	for _, c := range []byte(s[:2]) {
		if c >= 'a' {
			c -= 'a' - '9' - 1
		}
		n = n<<4 | int(c-'0')
	}
	return n
}

// group sets the attributes of one row of a group.
func (o *opcodes) group(a attr, reg, prefix byte) attr {
	t := &o.groups[a&groupMask>>groupShift]
	common := a &^ groupMask
	if t[noPrefix][reg]&attrVariant != 0 && prefix != noPrefix {
		return t[prefix][reg] | common
	}
	return t[noPrefix][reg] | common
}
