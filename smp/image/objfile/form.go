package objfile

// A Form says what a relocation puts into its hole: the quantity Of, plus the addend, minus the
// quantity Less.
type Form struct {
	Use      Use
	Bytes    int // size of the hole; 0: the relocation only marks an instruction
	Of, Less Quantity
	Room     Room
	Field    *Field // of an instruction, or of a sum; nil: the value is the hole
}

// A Field is the part of an instruction that a value is put into.
type Field struct {
	Bits  int    // of the values that fit; 0: those of the hole
	Unit  int    // the value must be a multiple of it; 0: of any
	High  bool   // the symbol is where an instruction with the high part stands, and the value is that one's
	Round uint64 // is added to the value first
	Pages bool   // what is compared is the pages of 4 KiB
	Fill  bool   // as many bytes as the addend says stand there, for alignment to more than that (File.Fill)
	Into  func(hole, v uint64) uint64
}

// into returns Field.Into of bits that replace those of a mask.
func into(bits func(v uint64) uint64, mask uint64) func(hole, v uint64) uint64 {
	return func(hole, v uint64) uint64 { return hole&^mask | bits(v)&mask }
}

// A Use says which code has a relocation.
type Use uint8

const (
	Unsupported Use = iota
	Plain           // any code
	Linked          // what needs a global offset table, low addresses or sizes, from a linker
	Thread          // what uses thread-local storage
)

// A Quantity is what a value is computed from. Its name in the System V ABI follows.
type Quantity uint8

const (
	Nothing  Quantity = iota // also a thread's offsets, which aren't known
	SymbolAt                 // S, and L, as there is no procedure linkage table
	EntryAt                  // likewise, where a function is entered with the caller's TOC
	SlotAt                   // GOT + G, of the symbol's slot
	TableAt                  // GOT, or .TOC.
	HoleAt                   // P
	SizeOf                   // Z
	Quantities
)

// A Room says which values fit into a hole.
type Room uint8

const (
	Whole    Room = iota // all
	Signed               // values that sign extension restores
	Unsigned             // values that zero extension restores
	Either
)

// Relative reports whether the value is a distance from the hole.
func (f *Form) Relative() bool { return f.Less == HoleAt }

// Value computes the contents of the hole. ok is false if it doesn't fit.
func (f *Form) Value(at *[Quantities]uint64, addend int64) (v uint64, ok bool) {
	v = at[f.Of] + uint64(addend) - at[f.Less]
	bits := 8 * f.Bytes
	if x := f.Field; x != nil {
		if x.Pages {
			v = (at[f.Of]+uint64(addend))&^0xfff - at[f.Less]&^0xfff
		}
		v += x.Round
		if x.Bits > 0 {
			bits = x.Bits
		}
		if x.Unit > 0 && v%uint64(x.Unit) != 0 {
			return v, false
		}
	}
	asSigned := f.Bytes == 0 || int64(v)<<(64-bits)>>(64-bits) == int64(v)
	asUnsigned := f.Bytes == 8 || v>>bits == 0
	switch f.Room {
	case Signed:
		return v, asSigned
	case Unsigned:
		return v, asUnsigned
	case Either:
		return v, asSigned || asUnsigned
	}
	return v, true
}

// Put fills the hole.
func (f *Form) Put(order Order, hole []byte, v uint64) {
	if f.Field != nil {
		v = f.Field.Into(uint64(f.addend(order, hole)), v)
	}
	switch f.Bytes {
	case 8:
		order.PutUint64(hole, v)
	case 4:
		order.PutUint32(hole, uint32(v))
	case 2:
		order.PutUint16(hole, uint16(v))
	case 1:
		hole[0] = byte(v)
	}
}

// addend reads the addend that stands in a hole.
func (f *Form) addend(order Order, hole []byte) int64 {
	switch f.Bytes {
	case 8:
		return int64(order.Uint64(hole))
	case 4:
		return int64(int32(order.Uint32(hole)))
	case 2:
		return int64(int16(order.Uint16(hole)))
	case 1:
		return int64(int8(hole[0]))
	}
	return 0
}
