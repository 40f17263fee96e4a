package native

import (
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A form is an instruction as the decoder sees it: an opcode with what selects
// it (the field reg of a group, a mandatory prefix), its size, whether its
// operand is memory, and the prefixes that change what it does.
type form struct {
	mode     x86.Mode
	prefixes []byte // legacy ones, in their order
	vex      bool
	pp       byte // of VEX: 0, 66, f3, f2
	long     bool // VEX.L
	space    byte // 1: one byte, 2: 0f, 3: 0f 38, 4: 0f 3a
	op       byte
	w        bool // REX.W or VEX.W
	modrm    bool
	group    int // the field reg; -1: it names a register
	mem      bool
}

// String names the form: the prefixes, the opcode, /reg, and m or r.
func (f *form) String() string {
	var b strings.Builder
	if f.mode == x86.Mode32 {
		b.WriteString("32: ")
	}
	for _, p := range f.prefixes {
		fmt.Fprintf(&b, "%02x ", p)
	}
	if f.vex {
		fmt.Fprintf(&b, "vex%d.%s.", f.pp, [2]string{"l0", "l1"}[toInt(f.long)])
	}
	if f.w {
		b.WriteString("w ")
	}
	b.WriteString([...]string{1: "", 2: "0f ", 3: "0f38 ", 4: "0f3a "}[f.space])
	fmt.Fprintf(&b, "%02x", f.op)
	if f.modrm {
		if f.group >= 0 {
			fmt.Fprintf(&b, " /%d", f.group)
		}
		b.WriteString([2]string{" r", " m"}[toInt(f.mem)])
	}
	return b.String()
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *form) has(prefix byte) bool { return strings.IndexByte(string(f.prefixes), prefix) >= 0 }

// groups are the opcodes whose field reg selects the instruction (SDM vol. 2,
// table A-6).
func isGroup(vex bool, space, op byte) bool {
	switch {
	case vex:
		return space == 3 && op == 0xf3
	case space == 1:
		switch op {
		case 0x80, 0x81, 0x82, 0x83, 0x8f, 0xc0, 0xc1, 0xc6, 0xc7, 0xd0, 0xd1, 0xd2, 0xd3, 0xf6, 0xf7, 0xfe, 0xff:
			return true
		}
	case space == 2:
		switch op {
		case 0x00, 0x01, 0x0d, 0x18, 0x1e, 0xae, 0xba, 0xc7:
			return true
		}
	}
	return false
}

// prefixClasses are the prefixes that a form may have beside 66.
var prefixClasses = [][]byte{nil, {0xf2}, {0xf3}, {0x67}, {0xf0}, {0x64}, {0x65}, {0x67, 0xf3}, {0x67, 0xf2}, {0x2e}}

// forms lists what the decoder takes, Exec executes and user mode may run on a
// processor with these features.
func forms(mode x86.Mode, features map[string]bool, leftOut map[string]int) (list []*form) {
	add := func(f form) {
		if f.supported(features, leftOut) {
			list = append(list, &f)
		}
	}
	for space := byte(1); space <= 4; space++ {
		for op := range 256 {
			if isPrefix(mode, space, byte(op)) {
				continue
			}
			for _, prefixes := range prefixClasses {
				for _, size := range []struct {
					p []byte
					w bool
				}{{nil, false}, {[]byte{0x66}, false}, {nil, true}} {
					if size.w && mode == x86.Mode32 {
						continue
					}
					f := form{mode: mode, space: space, op: byte(op), w: size.w,
						prefixes: append(append([]byte(nil), size.p...), prefixes...)}
					f.eachOperand(add)
				}
			}
			for pp := range byte(4) {
				for i := range 4 {
					f := form{mode: mode, vex: true, pp: pp, space: space, op: byte(op), w: i&1 != 0, long: i&2 != 0}
					if space > 1 && !(f.w && mode == x86.Mode32) {
						f.eachOperand(add)
						f.prefixes = []byte{0x67}
						f.eachOperand(add)
					}
				}
			}
		}
	}
	return list
}

// isPrefix reports whether a byte is none of the opcodes of its map.
func isPrefix(mode x86.Mode, space, op byte) bool {
	switch {
	case space == 2:
		return op == 0x38 || op == 0x3a
	case space > 2:
		return false
	}
	switch op {
	case 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	case 0xc4, 0xc5, 0x62:
		return mode == x86.Mode64
	}
	return mode == x86.Mode64 && op&0xf0 == 0x40
}

// eachOperand completes a form with each kind of operand.
func (f form) eachOperand(add func(form)) {
	f.group, f.modrm = -1, true
	groups := 1
	if isGroup(f.vex, f.space, f.op) {
		groups = 8
	}
	for g := range groups {
		if groups > 1 {
			f.group = g
		}
		f.mem = false
		in, err := f.probe()
		if err == nil {
			if _, ok := in.ModRM(); !ok {
				f.modrm, f.group = false, -1
				add(f)
				return
			}
			add(f)
		}
		f.mem = true
		add(f)
	}
}

// probe decodes one of the form's encodings.
func (f *form) probe() (x86.Inst, error) {
	r := random(7)
	code, _ := f.encode(&r)
	return f.mode.Decode(code, codeAt)
}

// supported reports whether the form is one to be compared; why not is counted
// in leftOut.
func (f *form) supported(features map[string]bool, leftOut map[string]int) bool {
	in, err := f.probe()
	if err != nil {
		return false
	}
	if _, ok := in.ModRM(); ok != f.modrm || f.redundant() {
		return false
	}
	a := dissect(&in)
	why := unfit(f.mode, &a)
	switch {
	case why != "":
	case in.Unsupported():
		why = "refused by Exec"
	case vendorsDiffer(f.mode, &a) != "":
		why = vendorsDiffer(f.mode, &a)
	case in.UndefinedResult(&arch.Regs{}):
		why = "undefined result"
	case needs(&a) != "" && !features[needs(&a)]:
		why = "no " + needs(&a) + " here"
	default:
		return true
	}
	leftOut[why]++
	return false
}

// redundant reports whether the form's prefixes add nothing to compare that
// other forms haven't: lock and segments without memory, repeats that are
// neither mandatory nor of a string instruction but for one size.
func (f *form) redundant() bool {
	if f.vex {
		return f.has(0x67) && !f.mem
	}
	memory := f.mem || f.implicitMemory()
	switch {
	case f.has(0xf0):
		return !f.mem
	case f.has(0x64), f.has(0x65):
		return !memory
	case f.has(0x67) && (f.has(0xf2) || f.has(0xf3)):
		return !f.isString() && !(f.space > 1 && f.mem)
	case f.has(0xf2), f.has(0xf3):
		return f.space == 1 && !f.isString() && f.has(0x66)
	case f.has(0x67):
		return !memory && !(f.space == 1 && f.op >= 0xe0 && f.op <= 0xe3) && f.has(0x66)
	case f.has(0x2e):
		return f.has(0x66) || f.w
	}
	return false
}

func (f *form) isString() bool {
	return !f.vex && f.space == 1 && (f.op >= 0xa4 && f.op <= 0xa7 || f.op >= 0xaa && f.op <= 0xaf)
}

// implicitMemory: operands in memory without ModRM, other than the stack.
func (f *form) implicitMemory() bool {
	return f.isString() || !f.vex && f.space == 1 && (f.op >= 0xa0 && f.op <= 0xa3 || f.op == 0xd7)
}

// unfit says why user mode can't run an instruction, or why its result is the
// host's own affair; "" if it can.
func unfit(mode x86.Mode, a *anatomy) string {
	const privileged, selectors, values, calls = "privileged", "about selectors",
		"reads what differs from host to host",
		"goes to the kernel"
	switch {
	case a.vex:
		return ""
	case a.space == 1:
		switch a.op {
		case 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x8c, 0x8e, 0x9a, 0xc4, 0xc5, 0xca, 0xcb, 0xcf, 0xea:
			return selectors
		case 0x6c, 0x6d, 0x6e, 0x6f, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf4, 0xfa, 0xfb:
			return privileged
		case 0xcd:
			return calls
		case 0xc6, 0xc7:
			if a.reg == 7 {
				return "transactions"
			}
		case 0xff:
			if a.reg == 3 || a.reg == 5 {
				return selectors
			}
		}
	case a.space == 2:
		switch a.op {
		case 0x00, 0x02, 0x03, 0xa0, 0xa1, 0xa8, 0xa9, 0xb2, 0xb4, 0xb5:
			return selectors
		case 0x01:
			if a.tail[0] == 0xe8 && !a.f2 && !a.f3 && !a.opsize {
				return "" // serialize
			}
			return privileged
		case 0x06, 0x08, 0x09, 0x20, 0x21, 0x22, 0x23, 0x30, 0x32, 0x33, 0x78, 0x79, 0xaa:
			return privileged
		case 0x05, 0x07, 0x34, 0x35:
			return calls
		case 0x31, 0xa2:
			return values
		case 0xc7:
			if a.reg >= 6 {
				return values
			}
			if a.reg >= 3 {
				return privileged
			}
		}
	}
	return ""
}
