package mutate

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
)

// Parts of an instruction (vol. 1, "Base Instruction Formats", "Instruction Formats" of the C chapter).
const (
	riscvOpcode = 0x7f
	riscvStore  = 0x23
	riscvAMO    = 0x2f
	riscvSystem = 0x73

	negates     = 1 << 12 // in a conditional branch, the lowest bit of funct3: the opposite condition
	negatesHalf = 1 << 13 // likewise between c.beqz and c.bnez

	sstatus = 0x100 // the number of the control register with the interrupt flag
)

// riscv is the row of riscv64: it has mutants of calls, conditional branches, stores, the interrupt flag and fences of
// instructions. Of a pair of instructions that call, the second is replaced: the first only writes the register that
// the call would overwrite.
var riscv = row{nop: riscv64.NopN, ret: riscvReturn, condition: (*lister).conditionRISCV, plain: (*lister).plainRISCV}

// riscvReturn returns a return of n bytes.
func riscvReturn(n int) []byte {
	c := riscv64.Half(riscv64.CRet)
	if n == riscv64.WordLen {
		c = riscv64.Code(riscv64.Ret)
	}
	return c.Bytes()
}

// conditionRISCV adds the mutants of a conditional branch: it is inverted, always taken, or never taken.
func (l *lister) conditionRISCV(in arch.Inst) {
	old, what := in.Bytes(), mnemonic(in)
	at, place := uint64(in.At()), l.place(uint64(in.At()))
	invert := in.Bytes()
	if len(old) == riscv64.WordLen {
		binary.LittleEndian.PutUint32(invert, binary.LittleEndian.Uint32(old)^negates)
	} else {
		binary.LittleEndian.PutUint16(invert, binary.LittleEndian.Uint16(old)^negatesHalf)
	}
	l.add("invert:"+place, "invert the condition "+what, at, old, invert)
	if t, ok := in.Target(); ok && len(old) == riscv64.WordLen {
		if w, ok := riscv64.Jal(riscv64.Zero, in.At(), t); ok {
			c := riscv64.Code(w)
			l.add("always:"+place, "always take the jump "+what, at, old, c.Bytes())
		}
	}
	l.add("never:"+place, "never take the jump "+what, at, old, riscv64.NopN(len(old)))
}

// plainRISCV adds the mutants of an instruction that continues to the next one.
func (l *lister) plainRISCV(in arch.Inst) {
	x, ok := in.(*riscv64.Inst)
	if !ok {
		return
	}
	at, place, with := uint64(in.At()), l.place(uint64(in.At())), riscv64.NopN(in.Size())
	regs := in.AddressRegs()
	switch w := x.Word(); {
	case x.Name() == "fence.i":
		l.add("drop-fence:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case w&riscvOpcode == riscvSystem && w>>20 == sstatus && x.Name() != "ebreak":
		l.add("drop-flag:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case w&riscvOpcode == riscvAMO:
		l.add("drop-locked:"+place, "drop the locked store "+in.String(), at, in.Bytes(), with)
	case w&riscvOpcode == riscvStore && len(regs) > 0 && regs[0] != riscv64.SP:
		l.add("drop-store:"+place, "drop the store "+in.String(), at, in.Bytes(), with)
	}
}
