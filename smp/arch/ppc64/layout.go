package ppc64

// A layout says how the operands of a form lie.
type layout struct {
	read   func(in *Inst) error
	syntax string // of the text: see text.go
}

// The fields of registers: T, A, B and C as the manual calls them. S is T.
func (w word) fieldT() uint8 { return uint8(w >> 21 & 31) }
func (w word) fieldA() uint8 { return uint8(w >> 16 & 31) }
func (w word) fieldB() uint8 { return uint8(w >> 11 & 31) }
func (w word) fieldC() uint8 { return uint8(w >> 6 & 31) }

// signed and unsigned return the immediates SI and UI.
func (w word) signed() uint64   { return uint64(int64(int16(w))) }
func (w word) unsigned() uint64 { return uint64(uint16(w)) }

// setB makes register B the second operand.
func (in *Inst) setB() { in.b, in.bMask = in.word.fieldB(), ^uint64(0) }

// setBase makes register A the first operand. Register 0 stands for zero (Book I, "Effective Address
// Calculation").
func (in *Inst) setBase() {
	in.a = in.word.fieldA()
	if in.a == 0 {
		in.aMask = 0
	}
}

// setSum makes T the result, and A the first operand.
func (in *Inst) setSum() { in.d, in.a = in.word.fieldT(), in.word.fieldA() }

// setLogic makes A the result, and S the first operand.
func (in *Inst) setLogic() { in.d, in.a = in.word.fieldA(), in.word.fieldT() }

// by makes a layout of steps that don't fail.
func by(syntax string, read func(in *Inst)) layout {
	return layout{func(in *Inst) error { read(in); return nil }, syntax}
}

// The layouts of arithmetic and logic.
var (
	layNone = by("", func(*Inst) {})

	layTAB = by("t,a,b", func(in *Inst) { in.setSum(); in.setB() })
	layTA  = by("t,a", func(in *Inst) { in.setSum() })
	layTAI = by("t,a,i", func(in *Inst) { in.setSum(); in.imm = in.word.signed() })
	layTZI = by("t,z,i", func(in *Inst) { in.setSum(); in.setBase(); in.imm = in.word.signed() })
	layTZH = by("t,z,i", func(in *Inst) { in.setSum(); in.setBase(); in.imm = in.word.signed() << 16 })
	// The sum of a subtraction is that of the inverted first operand, the second one and 1.
	laySubtract  = by("t,a,b", func(in *Inst) { in.setSum(); in.setB(); in.inverts(1) })
	laySubtractI = by("t,a,i", func(in *Inst) { in.setSum(); in.imm = in.word.signed(); in.inverts(1) })
	layNegate    = by("t,a", func(in *Inst) { in.setSum(); in.inverts(1) })
	// The carry comes from XER.
	laySubtractE = by("t,a,b", func(in *Inst) { in.setSum(); in.setB(); in.inverts(0) })
	laySubtractZ = by("t,a", func(in *Inst) { in.setSum(); in.inverts(0) })
	laySubtractM = by("t,a", func(in *Inst) { in.setSum(); in.imm = ^uint64(0); in.inverts(0) })
	layAddM      = by("t,a", func(in *Inst) { in.setSum(); in.imm = ^uint64(0) })
	layTABC      = by("t,a,b,c", func(in *Inst) { in.setSum(); in.setB(); in.c = in.word.fieldC() })

	layAS   = by("a,t", func(in *Inst) { in.setLogic() })
	layASB  = by("a,t,b", func(in *Inst) { in.setLogic(); in.setB() })
	layASU  = by("a,t,u", func(in *Inst) { in.setLogic(); in.imm = in.word.unsigned() })
	layASUH = by("a,t,u", func(in *Inst) { in.setLogic(); in.imm = in.word.unsigned() << 16 })
)

// inverts inverts the first operand of a sum.
func (in *Inst) inverts(carry uint64) { in.flip, in.carry = ^uint64(0), carry }

// The layouts of memory operands.
var (
	layD  = by("t,i(z)", func(in *Inst) { in.setAccess(); in.imm = in.word.signed() })
	layDS = by("t,o(z)", func(in *Inst) { in.setAccess(); in.imm = in.word.signed() &^ 3 })
	layX  = by("t,z,b", func(in *Inst) { in.setAccess(); in.setB() })
	// The hint EH of loads that reserve says what the reservation is for.
	layXE = by("t,z,b,e", func(in *Inst) { in.setAccess(); in.setB() })
	// The operand is in a block of cache.
	layBlock = by("z,b", func(in *Inst) { in.setAccess(); in.setB() })
	layHint  = by("z,b,h", func(in *Inst) { in.setAccess(); in.setB() })
	// L says how far the block is flushed (Book II, "Data Cache Block Flush").
	layFlush = layout{func(in *Inst) error {
		in.setAccess()
		in.setB()
		switch in.word >> 21 & 7 {
		case 0, 1, 3, 4, 6:
			return nil
		}
		return ErrInvalid
	}, "z,b,l"}
)

func (in *Inst) setAccess() {
	in.memory = true
	in.d = in.word.fieldT()
	in.setBase()
}
