package ppc64

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kpsim/smp/arch"
)

// What Decode refuses. The errors returned wrap these, and name the bytes.
var (
	// ErrTruncated: the bytes at hand end before the instruction does.
	ErrTruncated = errors.New("truncated instruction")
	// ErrUnaligned: instructions stand at multiples of four.
	ErrUnaligned = errors.New("misaligned instruction")
	// ErrCrosses: a prefixed instruction must not cross a boundary of 64 bytes: it would be an
	// alignment interrupt (Book I, "Prefixed Instructions").
	ErrCrosses = errors.New("prefixed instruction across a boundary of 64 bytes")
	// ErrInvalid: an invalid form (Book I, "Invalid Instruction Forms"). Processors differ.
	ErrInvalid = errors.New("invalid form")
	// ErrUnknown: no instruction, or none that is known here.
	ErrUnknown = errors.New("unknown instruction")
)

// MaxLen is the longest an instruction may be.
const MaxLen = PrefixLen

// boundary is what a prefixed instruction must not cross.
const boundary = 64

// A word is four bytes of an instruction. The manual numbers its bits from the left, code from the
// right.
type word uint32

// Decode decodes the instruction that b begins with, as it stands at an address. b may hold
// more or less than one. Errors wrap the Err variables.
//
// An instruction that exists, as far as the disassembler knows, and has no form here decodes to
// one that is refused when it is executed. So does one with a reserved field that isn't zero.
func Decode(b []byte, at arch.Addr) (arch.Inst, error) {
	if len(b) < WordLen {
		return nil, refuse(b, ErrTruncated)
	}
	in := &Inst{word: word(binary.LittleEndian.Uint32(b))}
	in.Len = WordLen
	if in.word>>26 == opPrefix {
		if len(b) < PrefixLen {
			return nil, refuse(b, ErrTruncated)
		}
		in.prefix, in.word = in.word, word(binary.LittleEndian.Uint32(b[WordLen:]))
		in.Len = PrefixLen
	}
	b = b[:in.Len]
	switch {
	case at%WordLen != 0:
		return nil, refuse(b, ErrUnaligned)
	case at%boundary+arch.Addr(in.Len) > boundary:
		return nil, refuse(b, ErrCrosses)
	}
	in.Addr, in.next, in.Inst = at, at+arch.Addr(in.Len), in
	in.aMask = ^uint64(0)
	in.form = find(in.prefix, in.word)
	if in.form == nil {
		if x, err := ppc64asm.Decode(b, binary.LittleEndian); err != nil || x.Op == 0 || x.Len != len(b) {
			return nil, refuse(b, ErrUnknown)
		}
		in.refuse()
		return in, nil
	}
	if err := in.make(); err != nil {
		return nil, refuse(b, fmt.Errorf("%s: %w", in.form.name, err))
	}
	return in, nil
}

// refuse makes Decode's error.
func refuse(b []byte, err error) error { return fmt.Errorf("ppc64: % x: %w", b, err) }

// refuse makes an instruction that exists and isn't executed.
func (in *Inst) refuse() { in.Run, in.refused = execRefused, true }

// make fills in what the form says.
func (in *Inst) make() error {
	f := in.form
	in.Run, in.size, in.Drains, in.flow = f.run, f.size, f.drains, f.flow
	if f.run == nil {
		in.refuse()
	}
	if err := f.read(in); err != nil {
		return err
	}
	if in.memory && f.update && (in.aMask == 0 || f.loads && in.a == in.d) {
		return ErrInvalid
	}
	if in.refused {
		return nil
	}
	if f.over != nil && in.word&bitOE != 0 {
		in.core, in.Run = in.Run, f.over
	}
	if f.records == always || f.records == byBit && in.word&bitRc != 0 {
		in.inner, in.Run = in.Run, execRecord
	}
	return nil
}

// A form is an instruction as the manual's appendix lists them (Power ISA Instruction Set
// Sorted by Opcode).
type form struct {
	name string
	pattern
	layout
	run     run // nil: it is refused
	prefix  word
	size    uint8 // of the memory operand in bytes; 0: there is none, or it isn't accessed
	records record
	over    run // of the form with OE; nil: there is none
	fits    func(a, b uint64) bool
	loads   bool // the access is a load
	update  bool // it writes the address to its base
	drains  bool
	flow    arch.Flow
}

// A record says whether an instruction sets CR0 by its result.
type record uint8

const (
	never record = iota
	byBit        // if bit Rc is set
	always
)

// A pattern is which bits of an instruction must have which values.
type pattern struct{ mask, value word }

// Bits that the forms of many instructions have.
const (
	bitRc word = 1       // set CR0
	bitLK word = 1       // set LR
	bitAA word = 1 << 1  // an absolute target
	bitOE word = 1 << 10 // set OV
)

// The fields of registers. The manual numbers bits from the left: T is bits 6 to 10.
const (
	fieldT word = 31 << 21
	fieldA word = 31 << 16
	fieldB word = 31 << 11
)

// The primary opcodes that have further opcodes.
const (
	opPrefix = 1
	opVector = 4
	opCR     = 19
	opRotate = 30
	opX      = 31
	opLoad   = 58
	opStore  = 62
)

// Patterns of the primary opcode and the extended one, which has 1, 2, 3, 4, 5, 6, 9 or 10 bits.
func d(op word) pattern      { return pattern{63 << 26, op << 26} }
func ds(op, xo word) pattern { return d(op).with(3, xo) }
func x(xo word) pattern      { return d(opX).with(0x7ff, xo<<1) }
func xl(xo word) pattern     { return d(opCR).with(0x7ff, xo<<1) }
func xs(xo word) pattern     { return d(opX).with(0x7fd, xo<<2) }
func a(xo word) pattern      { return d(opX).with(0x3f, xo<<1) }
func va(xo word) pattern     { return d(opVector).with(0x3f, xo) }
func md(xo word) pattern     { return d(opRotate).with(0x1d, xo<<2) }
func mds(xo word) pattern    { return d(opRotate).with(0x1f, xo<<1) }

// with fixes further bits.
func (p pattern) with(mask, value word) pattern { return pattern{p.mask | mask, p.value | value} }

// zero says that fields are reserved.
func (p pattern) zero(fields word) pattern { return p.with(fields, 0) }

// An index has the forms of all tables by primary opcode and bits 26 to 30, which the extended
// opcode begins or ends with.
type index [64 << 5][]*form

func key(w word) word { return w>>26<<5 | w>>1&31 }

var plain, prefixed = newIndex(arithForms, logicForms, rotateForms, compareForms, accessForms, exclusiveForms,
	branchForms, systemForms), newIndex(prefixForms)

func newIndex(tables ...[]form) (x *index) {
	x = new(index)
	for _, table := range tables {
		for i := range table {
			f := &table[i]
			if f.records == byBit {
				f.mask &^= bitRc
			}
			if f.over != nil {
				f.mask &^= bitOE
			}
			for low := range word(32) {
				w := f.value | low<<1
				if w&f.mask == f.value {
					x[key(w)] = append(x[key(w)], f)
				}
			}
		}
	}
	return x
}

// find returns the form of an instruction, nil if it has none. No instruction has two.
func find(prefix, w word) *form {
	x := plain
	if prefix != 0 {
		x = prefixed
	}
	for _, f := range x[key(w)] {
		if w&f.mask == f.value && (prefix == 0 || prefix&f.prefixMask() == f.prefix) {
			return f
		}
	}
	return nil
}
