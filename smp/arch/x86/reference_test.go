package x86_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Here the integer instructions are said a second time, as simply as it goes:
// bit by bit, place by place, with big numbers. Exec must do the same for every
// size, in registers and in memory, at the values where results change their
// kind. That is so on every computer; what real processors say is in native.

const arith = x86.CF | x86.PF | x86.AF | x86.ZF | x86.SF | x86.OF

// A place is an operand: a register's bytes from shift on, or memory at dataAt.
type place struct {
	reg   arch.Reg
	shift int
	mem   bool
}

// A trial is what an instruction finds, and then what the reference leaves.
type trial struct {
	mode x86.Mode
	size int // of the operands, in bytes
	e, g place
	s    arch.Regs
	data uint64 // at dataAt
	out  arch.Outcome

	stays bool // IP does: the instruction is repeated
}

func (x *trial) width() int   { return 8 * x.size }
func (x *trial) mask() uint64 { return 1<<x.width() - 1 }

func (x *trial) get(p place) uint64 {
	if p.mem {
		return x.data & x.mask()
	}
	return x.s.R[p.reg] >> p.shift & x.mask()
}

// put writes an operand; 32 bits of a register clear the upper half.
func (x *trial) put(p place, v uint64) {
	if x.size == 4 && !p.mem {
		x.s.R[p.reg] = 0
	}
	x.fill(p, v)
}

// fill leaves what is around the operand.
func (x *trial) fill(p place, v uint64) {
	to := &x.data
	if !p.mem {
		to = &x.s.R[p.reg]
	}
	*to = *to&^(x.mask()<<p.shift) | v&x.mask()<<p.shift
}

// set gives the flags of which the values.
func (x *trial) set(which, values uint64) { x.s.Flags = x.s.Flags&^which | values&which }

func (x *trial) carry() uint64 { return x.s.Flags & x86.CF }

func top(v uint64, width int) uint64 { return v >> (width - 1) & 1 }

func when(b bool, flag uint64) uint64 {
	if b {
		return flag
	}
	return 0
}

// signs are PF, ZF and SF.
func signs(r uint64, width int) uint64 {
	ones := uint64(0)
	for i := range 8 {
		ones += r >> i & 1
	}
	return when(ones%2 == 0, x86.PF) | when(r == 0, x86.ZF) | when(top(r, width) != 0, x86.SF)
}

// adder adds bit by bit. CF is the last carry, AF that of the fourth bit, OF says
// that those into and out of the last bit differ.
func adder(a, b, carry uint64, width int) (r, flags uint64) {
	var into uint64
	for i := range width {
		sum := a>>i&1 + b>>i&1 + carry
		r |= sum & 1 << i
		into, carry = carry, sum>>1
		if i == 3 {
			flags |= when(carry != 0, x86.AF)
		}
	}
	return r, flags | signs(r, width) | carry | when(carry != into, x86.OF)
}

// subtractor adds the complement; carries and borrows are each other's reverse.
func subtractor(a, b, borrow uint64, width int) (r, flags uint64) {
	r, flags = adder(a, ^b, borrow^1, width)
	return r, flags ^ (x86.CF | x86.AF)
}

// two are the operations of 00 to 3f, and test: result, flags, and whether the
// result is kept.
func two(op int, a, b, carry uint64, width int) (r, flags uint64, keep bool) {
	switch op {
	case 0:
		r, flags = adder(a, b, 0, width)
	case 2:
		r, flags = adder(a, b, carry, width)
	case 3:
		r, flags = subtractor(a, b, carry, width)
	case 5, 7:
		r, flags = subtractor(a, b, 0, width)
	case 1:
		r = a | b
	case 6:
		r = a ^ b
	default:
		r = a & b
	}
	if op == 1 || op == 4 || op == 6 || op == 8 {
		flags = signs(r, width)
	}
	return r, flags, op < 7
}

// values are where results of a width change their kind.
func values(width int) (list []uint64) {
	mask := uint64(1)<<width - 1
	half := uint64(1) << (width - 1)
	for _, v := range []uint64{0, 1, 2, 3, 7, 8, 0xf, 0x10, 0x33, 0x5a, 0x7f, 0x80, 0x81, 0x9a, 0xff, half - 1, half,
		half + 1, mask - 1, mask,
		0x0123456789abcdef, 0xfedcba9876543210, half>>1 - 1, half >> 1, 1 << (width/2 - 1), 1 << (width / 2),
		1<<(width/2) - 1} {
		list = append(list, v&mask)
	}
	return list
}

// shapes are the operands of a form by ModRM: E in rbx, bh or at rdi; G in rdx
// or ch.
func shapes(size int) (list []trial) {
	rbx, rdx := place{reg: x86.RBX}, place{reg: x86.RDX}
	list = []trial{{size: size, e: rbx, g: rdx}, {size: size, e: place{mem: true}, g: rdx}}
	if size == 1 {
		bh, ch := place{reg: x86.RBX, shift: 8}, place{reg: x86.RCX, shift: 8}
		list = append(list, trial{size: size, e: bh, g: rdx}, trial{size: size, e: rbx, g: ch},
			trial{size: size, e: place{mem: true}, g: ch})
	}
	return list
}

// encode writes prefixes for the size, the opcode and its ModRM. Other prefixes
// come after a mandatory one.
func (x *trial) encode(opcode string, reg int, imm ...byte) []byte {
	var b []byte
	if opcode[0] == 0xf2 || opcode[0] == 0xf3 || opcode[0] == 0x66 {
		b, opcode = append(b, opcode[0]), opcode[1:]
	}
	switch x.size {
	case 2:
		b = append(b, 0x66)
	case 8:
		b = append(b, 0x48)
	}
	b = append(b, opcode...)
	return append(append(b, x.modrm(reg)), imm...)
}

func (x *trial) modrm(reg int) byte {
	number := func(p place) int {
		if p.shift != 0 {
			return int(p.reg) + 4
		}
		return int(p.reg)
	}
	if reg < 0 {
		reg = number(x.g)
	}
	if x.e.mem {
		return byte(reg)<<3 | byte(x86.RDI)
	}
	return 0xc0 | byte(reg)<<3 | byte(number(x.e))
}

// wide makes an opcode for bytes the one for words.
func (x *trial) wide(opcode string) string {
	if x.size == 1 {
		return opcode
	}
	return opcode[:len(opcode)-1] + string([]byte{opcode[len(opcode)-1] | 1})
}

// begin fills registers and memory with what is easily missed if it is lost.
func (x *trial) begin(e, g, flags uint64) {
	for i := range x.s.R[:x86.AMD64.Used] {
		x.s.R[i] = 0x9e37_79b9_7f4a_7c15 * uint64(i+1)
	}
	x.s.R[x86.RDI], x.s.R[x86.RSP] = uint64(dataAt), uint64(stackAt)
	x.data = 0xa5a5_5a5a_c3c3_3c3c
	x.s.Flags, x.s.IP, x.out = x86.F1|flags, textAt, arch.Next
	x.fill(x.e, e)
	x.fill(x.g, g)
}

// pairs tries every pair of values in E and G, with and without flags set. prepare
// may change what the instruction finds; ref says what it leaves.
func (x *trial) pairs(t *testing.T, code []byte, prepare, ref func(x *trial)) {
	t.Helper()
	x.try(t, code, values(x.width()), prepare, ref)
}

// each tries every value in E.
func (x *trial) each(t *testing.T, code []byte, prepare, ref func(x *trial)) {
	t.Helper()
	x.try(t, code, []uint64{0x8112_3456_9abc_7ef3}, prepare, ref)
}

func (x *trial) try(t *testing.T, code []byte, second []uint64, prepare, ref func(x *trial)) {
	t.Helper()
	in, mem := x.decode(t, code), make(flat, 0x10000)
	for _, a := range values(x.width()) {
		for _, b := range second {
			for _, flags := range []uint64{0, arith, x86.CF | x86.SF, arith &^ x86.CF} {
				before := *x
				before.begin(a, b, flags)
				if prepare != nil {
					prepare(&before)
				}
				after := before
				ref(&after)
				after.compare(t, in, &before, mem)
			}
		}
	}
}

func (x *trial) decode(t *testing.T, code []byte) *x86.Inst {
	t.Helper()
	in, err := x.mode.Decode(code, textAt)
	require.NoError(t, err, "% x", code)
	return &in
}

// check executes code from how before stands, and compares with x.
func (x *trial) check(t *testing.T, code []byte, before *trial, mem flat) {
	t.Helper()
	x.compare(t, x.decode(t, code), before, mem)
}

func (x *trial) compare(t *testing.T, in *x86.Inst, before *trial, mem flat) {
	mem.Store(dataAt, 8, before.data)
	s := before.s
	out := in.Exec(&s, mem)
	if x.out == arch.Next && !x.stays {
		x.s.IP += arch.Addr(in.Len)
	}
	data, _ := mem.Load(dataAt, 8)
	if out != x.out || s != x.s || data != x.data {
		t.Helper()
		t.Fatalf("% x  %v\nfrom %x %x\ngot  %x %x %v\nwant %x %x %v",
			in.Bytes(), in, before.s, before.data, s, data, out, x.s, x.data, x.out)
	}
}
