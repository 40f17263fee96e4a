package arm64

import (
	"encoding/binary"
	"errors"
	"fmt"

	"kpsim/smp/arch"
)

// What Decode refuses. The errors returned wrap these, and name the bytes.
var (
	// ErrTruncated: the bytes at hand end before the instruction does.
	ErrTruncated = errors.New("truncated instruction")
	// ErrUnaligned: instructions stand at multiples of four. A jump elsewhere is a PC alignment
	// fault (ARM ARM D1, "PC alignment checking").
	ErrUnaligned = errors.New("misaligned instruction")
	// ErrUnknown: the encoding isn't allocated in v8.5.
	ErrUnknown = errors.New("unknown instruction")
	// ErrUnpredictable: its effect is CONSTRAINED UNPREDICTABLE (ARM ARM K1), so processors differ.
	ErrUnpredictable = errors.New("unpredictable instruction")
)

// A word is an instruction's encoding.
type word uint32

// field returns the n bits from bit lo on.
func (w word) field(lo, n uint) uint64 { return uint64(w>>lo) & (1<<n - 1) }

// signed returns them as a signed number.
func (w word) signed(lo, n uint) uint64 { return signExtend(w.field(lo, n), uint8(64-n)) }

func (w word) bit(n uint) bool { return w>>n&1 != 0 }

// reg returns the register whose number is at bit lo, where 31 is the zero register, and regSP
// where it is the stack pointer.
func (w word) reg(lo uint) uint8 {
	n := w.regSP(lo)
	if n == uint8(SP) {
		return uint8(ZR)
	}
	return n
}

func (w word) regSP(lo uint) uint8 { return uint8(w.field(lo, 5)) }

// signExtend extends a number whose upper up bits don't count.
func signExtend(v uint64, up uint8) uint64 { return uint64(int64(v<<(up&63)) >> (up & 63)) }

// A maker fills in what an instruction of its form does. nil: it exists.
type maker func(in *Inst, w word) error

// A form is a row of the tables of encodings.
type form struct {
	pattern string                // the fixed bits from bit 31 down, dots for the others; spaces are ignored
	name    string                // the mnemonic or, of several, what the ARM ARM calls the class (C4.1)
	make    maker                 // makes the instruction
	text    func(in *Inst) string // names it where arm64asm doesn't: "" where that does; may be nil
}

// A match is a form with the bits that its pattern fixes.
type match struct {
	mask, bits word
	form       *form
}

// An index has the forms of all tables by bits 28 to 25, which say the family (ARM ARM C4.1).
type index [16][]match

var allForms = newIndex(immediateForms, branchForms, memoryForms, exclusiveForms, registerForms,
	refusedForms)

func newIndex(tables ...[]form) (x index) {
	for _, table := range tables {
		for i := range table {
			c := table[i].match()
			for family := range word(len(x)) {
				if c.mask>>25&15&(c.bits>>25^family) == 0 {
					x[family] = append(x[family], c)
				}
			}
		}
	}
	return x
}

// match reads the pattern.
func (f *form) match() match {
	c := match{form: f}
	n := 0
	for _, b := range []byte(f.pattern) {
		if b == ' ' {
			continue
		}
		n++
		c.mask, c.bits = c.mask<<1, c.bits<<1
		if b != '.' {
			c.mask |= 1
			c.bits |= word(b - '0')
		}
	}
	if n != 32 {
		panic(fmt.Sprintf("arm64: %s: a pattern of %d bits", f.name, n))
	}
	return c
}

// find returns the form of a word; nil if there is none. No word has two forms.
func (x *index) find(w word) *form {
	for _, c := range x[w>>25&15] {
		if w&c.mask == c.bits {
			return c.form
		}
	}
	return nil
}

// Decode decodes the instruction that b begins with, as it stands at an address. It also decodes
// instructions that aren't executed: Unsupported reports true, and Exec refuses. Errors wrap
// ErrTruncated, ErrUnaligned, ErrUnknown and ErrUnpredictable.
func Decode(b []byte, at arch.Addr) (*Inst, error) {
	if len(b) < Len {
		return nil, fmt.Errorf("arm64: % x: %w", b, ErrTruncated)
	}
	w := word(binary.LittleEndian.Uint32(b))
	if at%Len != 0 {
		return nil, fmt.Errorf("arm64: % x at %#x: %w", b[:Len], uint64(at), ErrUnaligned)
	}
	f := allForms.find(w)
	if f == nil {
		return nil, fmt.Errorf("arm64: % x: %w", b[:Len], ErrUnknown)
	}
	in := &Inst{word: w, form: f}
	in.Addr, in.Len, in.Inst = at, Len, in
	in.m = uint8(ZR)
	if err := f.make(in, w); err != nil {
		return nil, fmt.Errorf("arm64: % x (%s): %w", b[:Len], f.name, err)
	}
	return in, nil
}

// setWidth sets the operand size by sf, which makes it 64 bits.
func (in *Inst) setWidth(sf bool) {
	in.mask, in.sign = 1<<32-1, 31
	if sf {
		in.mask, in.sign = ^uint64(0), 63
	}
}

// width returns the operand size in bits.
func (in *Inst) width() uint { return uint(in.sign) + 1 }
