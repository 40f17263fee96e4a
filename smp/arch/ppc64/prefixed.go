package ppc64

// Types of prefixes, with the primary opcode: a load or store of eight bytes, one of less or an addition,
// and one that modifies the second word (Book I, "Prefix Instruction Formats").
const (
	prefix8LS word = 0x04000000
	prefixMLS word = 0x06000000
	prefixNop word = 0x07000000
)

// Fields of a prefix: R says that the operand is relative to the instruction.
const (
	prefixR         word = 1 << 20
	prefixImmediate word = 1<<18 - 1
)

// prefixForms are the instructions of two words, by the second one (Book I, "Fixed-Point Load
// Instructions" and what follows it). Those of floats and vectors have none here.
var prefixForms = []form{
	{name: "pnop", prefix: prefixNop, pattern: pattern{^word(0), 0}, layout: layNone, run: execNothing},
	{name: "paddi", prefix: prefixMLS, pattern: d(14), layout: layPrefixAdd, run: execAdd},
	prefixLoad("plbz", prefixMLS, 34, execLoad, 1),
	prefixLoad("plhz", prefixMLS, 40, execLoad, 2),
	prefixLoad("plha", prefixMLS, 42, execLoadSigned, 2),
	prefixLoad("plwz", prefixMLS, 32, execLoad, 4),
	prefixLoad("plwa", prefix8LS, 41, execLoadSigned, 4),
	prefixLoad("pld", prefix8LS, 57, execLoad, 8),
	prefixStore("pstb", prefixMLS, 38, 1),
	prefixStore("psth", prefixMLS, 44, 2),
	prefixStore("pstw", prefixMLS, 36, 4),
	prefixStore("pstd", prefix8LS, 61, 8),
}

func prefixLoad(name string, prefix, op word, run run, size uint8) form {
	return form{name: name, prefix: prefix, pattern: d(op), layout: layPrefix, run: run, size: size, loads: true}
}

func prefixStore(name string, prefix, op word, size uint8) form {
	return form{name: name, prefix: prefix, pattern: d(op), layout: layPrefix, run: execStore, size: size}
}

// prefixMask is which bits of the prefix the form fixes: the other ones are fields, or reserved.
func (f *form) prefixMask() word {
	if f.prefix == prefixNop {
		return ^word(0)
	}
	return ^(prefixR | prefixImmediate)
}

var (
	layPrefixAdd = layout{func(in *Inst) error { in.d = in.word.fieldT(); return in.far() }, "t,z,j,R"}
	layPrefix    = layout{func(in *Inst) error {
		in.memory, in.d = true, in.word.fieldT()
		return in.far()
	}, "t,j(z),R"}
)

// displacement returns the immediate of 34 bits.
func (in *Inst) displacement() uint64 {
	v := uint64(in.prefix&prefixImmediate)<<16 | in.word.unsigned()
	return uint64(int64(v<<30) >> 30)
}

// far reads the base and the displacement. With R there is no base.
func (in *Inst) far() error {
	in.setBase()
	in.imm = in.displacement()
	if in.prefix&prefixR == 0 {
		return nil
	}
	if in.a != 0 {
		return ErrInvalid
	}
	in.relative = true
	in.imm += uint64(in.Addr)
	return nil
}
