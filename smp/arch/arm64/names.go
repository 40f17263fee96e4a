package arm64

import "fmt"

// Texts of what arm64asm doesn't name, one function for each form, in the syntax of GNU objdump. They
// return "" where arm64asm has the name.

// register names a register of 32 or 64 bits.
func register(n uint8, wide bool) string {
	letter := "w"
	if wide {
		letter = "x"
	}
	switch n {
	case uint8(ZR):
		return letter + "zr"
	case uint8(SP):
		return "sp"
	}
	return fmt.Sprint(letter, n)
}

// regName names a register as wide as the access: x for eight bytes.
func (in *Inst) regName(n uint8) string { return register(n, in.size == 8) }

// base names the register of the address, and what is added to it.
func (in *Inst) base() string {
	if in.imm != 0 {
		return fmt.Sprintf("[%s, #%d]", register(in.n, true), int64(in.imm))
	}
	return fmt.Sprintf("[%s]", register(in.n, true))
}

// sizeName is the suffix of a mnemonic by the size of an access.
func (in *Inst) sizeName() string {
	switch in.size {
	case 1:
		return "b"
	case 2:
		return "h"
	}
	return ""
}

// order is the suffix of a mnemonic that acquires or releases, by bits of the word.
func (in *Inst) order(acquire, release uint) (s string) {
	if in.word.bit(acquire) {
		s = "a"
	}
	if in.word.bit(release) {
		s += "l"
	}
	return s
}

func textCompareAndSwap(in *Inst) string {
	return fmt.Sprintf("cas%s%s %s, %s, %s", in.order(22, 15), in.sizeName(), in.regName(in.a), in.regName(in.d),
		in.base())
}

func textCompareAndSwapPair(in *Inst) string {
	return fmt.Sprintf("casp%s %s, %s, %s, %s, %s", in.order(22, 15), in.regName(in.a), in.regName(in.after(in.a)),
		in.regName(in.d), in.regName(in.after(in.d)), in.base())
}

// atomicNames are those of the operations by the field opc.
var atomicNames = [8]string{"add", "clr", "eor", "set", "smax", "smin", "umax", "umin"}

func textAtomic(in *Inst) string {
	name := atomicNames[in.word.field(12, 3)]
	if in.d == uint8(ZR) && !in.word.bit(23) {
		return fmt.Sprintf("st%s%s%s %s, %s", name, in.order(23, 22), in.sizeName(), in.regName(in.m), in.base())
	}
	return in.textReplace("ld" + name)
}

func textSwap(in *Inst) string { return in.textReplace("swp") }

func (in *Inst) textReplace(name string) string {
	return fmt.Sprintf("%s%s%s %s, %s, %s", name, in.order(23, 22), in.sizeName(), in.regName(in.m),
		in.regName(in.d), in.base())
}

// textOrdered is for ldlar and stllr. arm64asm knows the others.
func textOrdered(in *Inst) string {
	switch {
	case in.word.bit(15):
		return ""
	case in.word.bit(22):
		return fmt.Sprintf("ldlar%s %s, %s", in.sizeName(), in.regName(in.d), in.base())
	}
	return fmt.Sprintf("stllr%s %s, %s", in.sizeName(), in.regName(in.d), in.base())
}

func textLoadAcquire(in *Inst) string {
	return fmt.Sprintf("ldapr%s %s, %s", in.sizeName(), in.regName(in.d), in.base())
}

func textOrderedUnscaled(in *Inst) string {
	if in.word.field(22, 2) == 0 {
		return fmt.Sprintf("stlur%s %s, %s", in.sizeName(), in.regName(in.d), in.base())
	}
	sign, wide := "", in.size == 8
	if in.ext != 0 {
		sign, wide = "s", in.sign == 63
	}
	size := in.sizeName()
	if in.ext != 0 && in.size == 4 {
		size = "w"
	}
	return fmt.Sprintf("ldapur%s%s %s, %s", sign, size, register(in.d, wide), in.base())
}

// key is the letter of a key by a bit of the word.
func (in *Inst) key(bit uint) string { return [...]string{"a", "b"}[in.word.field(bit, 1)] }

func textBranchSigned(in *Inst) string {
	name := [...]string{"bra", "blra"}[in.word.field(21, 1)] + in.key(10)
	if !in.word.bit(24) {
		return fmt.Sprintf("%sz %s", name, register(in.n, true))
	}
	return fmt.Sprintf("%s %s, %s", name, register(in.n, true), register(in.word.regSP(0), true))
}

func textReturnSigned(in *Inst) string { return "reta" + in.key(10) }

func textTrapReturnSigned(in *Inst) string { return "ereta" + in.key(10) }

func textLoadSigned(in *Inst) string {
	text := fmt.Sprintf("ldra%s %s, %s", in.key(23), register(in.d, true), in.base())
	if in.writeback {
		return text + "!"
	}
	return text
}

func textSign(in *Inst) string {
	op := in.word.field(10, 6)
	if op&^1 == 0x10 {
		return fmt.Sprintf("xpac%s %s", [...]string{"i", "d"}[op&1], register(in.d, true))
	}
	name := [...]string{"pacia", "pacib", "pacda", "pacdb", "autia", "autib", "autda", "autdb"}[op&7]
	if op&8 != 0 {
		z := name[:3] + name[3:4] + "z" + name[4:]
		return fmt.Sprintf("%s %s", z, register(in.d, true))
	}
	return fmt.Sprintf("%s %s, %s", name, register(in.d, true), register(in.word.regSP(5), true))
}

func textRotateIntoFlags(in *Inst) string {
	return fmt.Sprintf("rmif %s, #%d, #%d", register(in.n, true), in.lsl, in.word.field(0, 4))
}

func textSetFlags(in *Inst) string { return fmt.Sprintf("setf%d %s", in.sign+1, register(in.n, false)) }

func textUndefined(in *Inst) string { return fmt.Sprintf("udf #%d", in.word.field(0, 16)) }

func textSB(*Inst) string { return "sb" }

// hintNames are the names of hints that arm64asm prints by number.
var hintNames = map[uint64]string{
	hintDGH: "dgh", hintESB: "esb", hintPSB: "psb csync", hintTSB: "tsb csync", hintCSDB: "csdb", 22: "clearbhb",
	7: "xpaclri", 8: "pacia1716", 10: "pacib1716", 12: "autia1716", 14: "autib1716",
	24: "paciaz", 25: "paciasp", 26: "pacibz", 27: "pacibsp",
	28: "autiaz", 29: "autiasp", 30: "autibz", 31: "autibsp",
	32: "bti", 34: "bti c", 36: "bti j", 38: "bti jc",
}

func textHint(in *Inst) string { return hintNames[in.word.field(5, 7)] }

// stateNames are those of the fields of PSTATE by op1 and op2.
var stateNames = map[uint64]string{
	stateUAO: "uao", statePAN: "pan", stateSPSel: "spsel", stateSSBS: "ssbs", stateDIT: "dit", stateTCO: "tco",
	stateDAIFSet: "daifset", stateDAIFClr: "daifclr",
}

func textMoveToState(in *Inst) string {
	field := in.word.stateField()
	if field < 3 {
		return [...]string{"cfinv", "xaflag", "axflag"}[field]
	}
	return fmt.Sprintf("msr %s, #%#x", stateNames[field], in.word.field(8, 4))
}

// systemName names a system register, by its numbers if it has no row.
func (in *Inst) systemName() string {
	w := in.word
	if s := sysregOf[w.field(5, 15)]; s != nil {
		return s.name
	}
	return fmt.Sprintf("s%d_%d_c%d_c%d_%d", 2+w.field(19, 1), w.field(16, 3), w.field(12, 4), w.field(8, 4),
		w.field(5, 3))
}

func textMoveFromSystem(in *Inst) string {
	return fmt.Sprintf("mrs %s, %s", register(in.d, true), in.systemName())
}

func textMoveToSystem(in *Inst) string {
	return fmt.Sprintf("msr %s, %s", in.systemName(), register(in.word.reg(0), true))
}

func textSys(in *Inst) string {
	w := in.word
	if op, ok := sysOps[w.field(5, 14)]; ok {
		return fmt.Sprintf("%s, %s", op.name, register(in.n, true))
	}
	if text := in.secondOpinion(); text != "" {
		return text
	}
	text := fmt.Sprintf("sys #%d, C%d, C%d, #%d", w.field(16, 3), w.field(12, 4), w.field(8, 4), w.field(5, 3))
	if n := w.reg(0); n != uint8(ZR) {
		text += ", " + register(n, true)
	}
	return text
}

// textBarrier is for the two dsb that have names of their own.
func textBarrier(in *Inst) string {
	switch in.word.field(8, 4) {
	case 0:
		return "ssbb"
	case 4:
		return "pssbb"
	}
	return ""
}

func textCall(in *Inst) string { return fmt.Sprintf("%s #%#x", in.form.name, in.word.field(5, 16)) }

func textSignGeneric(in *Inst) string {
	w := in.word
	return fmt.Sprintf("pacga %s, %s, %s", register(w.reg(0), true), register(w.reg(5), true),
		register(w.regSP(16), true))
}
