package ppc64

import (
	"fmt"
	"slices"
	"strings"
)

// alias returns the text with a simplified mnemonic; "" if there is none (Book I, "Assembler Extended
// Mnemonics").
func (in *Inst) alias() string {
	if in.form == nil {
		return ""
	}
	name, syntax := in.simplified()
	if name == "" {
		return ""
	}
	text := in.write(name, syntax)
	if at, ok := in.IPOperand(); ok {
		text += fmt.Sprintf(" # %#x", uint64(at))
	}
	return text
}

// simplified returns a simplified mnemonic and its operands.
func (in *Inst) simplified() (name, syntax string) {
	w := in.word
	for _, s := range simple {
		if s.name == in.form.name && (s.is == nil || s.is(w)) {
			return s.text + in.dot(), s.syntax
		}
	}
	switch in.form.name {
	case "paddi":
		switch {
		case in.relative:
			return "pla", "t,j"
		case w.fieldA() == 0:
			return "pli", "t,j"
		}
	case "cmp", "cmpl":
		return in.form.name + "wd"[w>>21&1:][:1], "Fa,b"
	case "cmpi", "cmpli":
		n := len(in.form.name) - 1
		return in.form.name[:n] + "wd"[w>>21&1:][:1] + "i", "Fa," + in.form.syntax[len("f,L,a,"):]
	case "bc", "bclr", "bcctr", "bctar":
		return in.simplifiedBranch()
	case "mfspr", "mtspr", "mftb":
		return in.simplifiedSPR()
	case "tw", "td", "twi", "tdi":
		if s := trapNames[w.fieldT()]; s != "" {
			return in.form.name[:2] + s + in.form.name[2:], in.form.syntax[len("T,"):]
		}
	}
	switch {
	case in.relative:
		return in.form.name, "t,j"
	case in.Len == PrefixLen:
		return in.form.name, strings.TrimSuffix(in.form.syntax, ",R")
	}
	return "", ""
}

// dot is what Rc adds to a mnemonic.
func (in *Inst) dot() string {
	if in.form.records == byBit && in.word&bitRc != 0 {
		return "."
	}
	return ""
}

// simple are the simplified mnemonics that depend on fields of the word alone. The first that fits is
// meant.
var simple = []struct {
	name, text, syntax string
	is                 func(w word) bool
}{
	{"ori", "nop", "", func(w word) bool { return w == wordNop }},
	{"addi", "li", "t,i", func(w word) bool { return w.fieldA() == 0 }},
	{"addis", "lis", "t,i", func(w word) bool { return w.fieldA() == 0 }},
	{"addpcis", "lnia", "t", func(w word) bool { return w.farImmediate() == 0 }},
	{"or", "mr", "a,t", func(w word) bool { return w.fieldT() == w.fieldB() }},
	{"nor", "not", "a,t", func(w word) bool { return w.fieldT() == w.fieldB() }},
	{"mfcr", "mfcr", "t", nil},
	{"mtcrf", "mtcr", "t", func(w word) bool { return w.field(12, 8) == 0xff }},
	{"mtmsr", "mtmsr", "t", func(w word) bool { return w.field(16, 1) == 0 }},
	{"mtmsrd", "mtmsrd", "t", func(w word) bool { return w.field(16, 1) == 0 }},
	{"sc", "sc", "", func(w word) bool { return w.field(5, 7) == 0 }},
	{"tw", "trap", "", func(w word) bool { return w == wordTrap }},

	{"crxor", "crclr", "D", sameBits},
	{"creqv", "crset", "D", sameBits},
	{"crnor", "crnot", "D,A", func(w word) bool { return w.fieldA() == w.fieldB() }},
	{"cror", "crmove", "D,A", func(w word) bool { return w.fieldA() == w.fieldB() }},
	{"isel", "isellt", "t,z,b", func(w word) bool { return w.fieldC() == 0 }},
	{"isel", "iselgt", "t,z,b", func(w word) bool { return w.fieldC() == 1 }},
	{"isel", "iseleq", "t,z,b", func(w word) bool { return w.fieldC() == 2 }},

	{"lbarx", "lbarx", "t,z,b", noHint},
	{"lharx", "lharx", "t,z,b", noHint},
	{"lwarx", "lwarx", "t,z,b", noHint},
	{"ldarx", "ldarx", "t,z,b", noHint},
	{"sync", "hwsync", "", level(0)},
	{"sync", "lwsync", "", level(1)},
	{"sync", "ptesync", "", level(2)},
	{"sync", "phwsync", "", level(4)},
	{"sync", "plwsync", "", level(5)},
	{"wait", "wait", "", level(0)},
	{"wait", "waitrsv", "", level(1)},
	{"wait", "pause_short", "", level(2)},
	{"dcbf", "dcbf", "z,b", level(0)},
	{"dcbf", "dcbfl", "z,b", level(1)},
	{"dcbf", "dcbflp", "z,b", level(3)},
	{"dcbf", "dcbfps", "z,b", level(4)},
	{"dcbf", "dcbstps", "z,b", level(6)},

	{"rlwinm", "rotlwi", "a,t,w", func(w word) bool { return w.field(6, 5) == 0 && w.field(1, 5) == 31 }},
	{"rlwinm", "clrlwi", "a,t,M", func(w word) bool { return w.shiftWord() == 0 && w.field(1, 5) == 31 }},
	{"rlwinm", "slwi", "a,t,w", func(w word) bool {
		return w.field(6, 5) == 0 && w.field(1, 5) == 31-word(w.shiftWord()) && w.shiftWord() != 0
	}},
	{"rlwinm", "srwi", "a,t,M", func(w word) bool {
		return w.field(1, 5) == 31 && w.field(6, 5) == 32-word(w.shiftWord())
	}},
	{"rlwinm", "clrrwi", "a,t,q", func(w word) bool { return w.shiftWord() == 0 && w.field(6, 5) == 0 }},
	{"rlwnm", "rotlw", "a,t,b", func(w word) bool { return w.field(6, 5) == 0 && w.field(1, 5) == 31 }},
	{"rldicl", "rotldi", "a,t,s", func(w word) bool { return w.edge() == 0 }},
	{"rldicl", "clrldi", "a,t,m", func(w word) bool { return w.shift64() == 0 }},
	{"rldicl", "srdi", "a,t,m", func(w word) bool { return w.edge() == 64-w.shift64() }},
	{"rldicr", "clrrdi", "a,t,Q", func(w word) bool { return w.shift64() == 0 }},
	{"rldicr", "sldi", "a,t,s", func(w word) bool { return w.edge() == 63-w.shift64() }},
	{"rldcl", "rotld", "a,t,b", func(w word) bool { return w.edge() == 0 }},
}

func sameBits(w word) bool { return w.fieldT() == w.fieldA() && w.fieldA() == w.fieldB() }

func noHint(w word) bool { return w&1 == 0 }

// level says that the field L, or WC, has a value.
func level(v word) func(w word) bool { return func(w word) bool { return w.field(21, 3) == v } }

// trapNames are the conditions that have a name, by TO.
var trapNames = [32]string{1: "lgt", 2: "llt", 4: "eq", 5: "lge", 6: "lle", 8: "gt", 12: "ge", 16: "lt", 20: "le",
	24: "ne", trapAlways: "u"}

// hints are what predictions add to a mnemonic.
var hints = map[uint8]string{0: "", 2: "-", 3: "+"}

// simplifiedBranch names a conditional branch by what it tests, unless a bit is set that says nothing.
func (in *Inst) simplifiedBranch() (name, syntax string) {
	w, bo := in.word, in.word.bo()
	bi := w.fieldA()
	hint, ok := "", true
	var operands []string
	switch {
	case bo == boAlways: // written as a plain branch
		ok = bi == 0 && in.form.name != "bc"
	case bo&boNoCount == 0 && bo&boNoIf != 0: // 1a00t and 1a01t
		hint, ok = hints[bo>>2&2|bo&1]
		ok = ok && bi == 0
		name = counted(bo)
	case bo&boNoCount == 0: // 0000z to 0101z
		name = counted(bo) + "ft"[bo>>3&1:][:1]
		operands = append(operands, "I")
	case bo&boNoIf == 0: // 001at and 011at
		hint, ok = hints[bo&3]
		name = conditionNames[bo>>3&1][bi&3]
		if bi >= 4 || in.form.name != "bc" && w.field(11, 2) != 0 {
			operands = append(operands, "K")
		}
	default:
		ok = false
	}
	if !ok {
		return "", ""
	}
	if in.form.name == "bc" {
		operands = append(operands, "p")
	} else if w.field(11, 2) != 0 {
		operands = append(operands, "H")
	}
	return "b" + name + in.form.name[len("bc"):] + in.linkage() + hint, strings.Join(operands, ",")
}

func counted(bo uint8) string {
	if bo&boUntilZero != 0 {
		return "dz"
	}
	return "dnz"
}

// conditionNames are conditions by whether the bit must be set, and the bit in its field.
var conditionNames = [2][4]string{{"ge", "le", "ne", "ns"}, {"lt", "gt", "eq", "so"}}

// simplifiedSPR names the special register.
func (in *Inst) simplifiedSPR() (name, syntax string) {
	n, kind := in.word.numberSPR(), in.form.name[:2]
	switch {
	case in.refused:
		return "", ""
	case n < sprG0 || n >= sprG0+4:
		i := slices.IndexFunc(sprs[:], func(s spr) bool { return s.number == n })
		return kind + sprs[i].name, "t"
	case kind == "mt":
		return "mtsprg", fmt.Sprintf("%d,t", n-sprG0)
	}
	return "mfsprg", fmt.Sprintf("t,%d", n-sprG0)
}
