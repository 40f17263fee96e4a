package riscv64

// A Listed is a row of a table of forms, for tests that draw instructions of each.
type Listed struct {
	Name        string
	Mask, Value uint32
	Bytes       int // of the instruction
}

// Listing returns all forms that are executed, and the compressed ones, but for floats.
func Listing() (list []Listed) {
	for _, f := range forms {
		if !f.refused {
			list = append(list, Listed{f.name, f.mask, f.value, WordLen})
		}
	}
	for _, h := range halves {
		switch h.name {
		case "c.fld", "c.fldsp", "c.fsd", "c.fsdsp":
		default:
			list = append(list, Listed{h.name, h.mask, h.value, HalfLen})
		}
	}
	return list
}

// Fields returns the registers that the fields of an instruction name, whether it has them or not,
// and its immediate.
func (in *Inst) Fields() (regs [3]uint8, imm uint64) {
	w := in.full
	return [3]uint8{uint8(w >> 7 & 31), uint8(w >> 15 & 31), uint8(w >> 20 & 31)}, in.displacement()
}

// OperandSize returns the size of the memory operand.
func (in *Inst) OperandSize() int { return int(in.size) }

// The formats.
var (
	IType = iType
	SType = sType
	BType = bType
	UType = uType
	JType = jType
)
