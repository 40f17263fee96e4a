package x86

import (
	"math/bits"

	"kpsim/smp/arch"
)

// The two-operand operations, numbered as in bits 3 to 5 of their opcodes.
const (
	opAdd uint8 = iota
	opOr
	opAdc
	opSbb
	opAnd
	opSub
	opXor
	opCmp
	opTest // ours: and without a result
)

// alu computes a two-operand operation and the flags it leaves.
func alu(op uint8, a, b, flags, mask uint64, sign uint8) (r, newFlags uint64) {
	rest := flags &^ arith
	switch op {
	case opAdd:
		r = (a + b) & mask
		return r, rest | addFlags(a, b, r, sign)
	case opAdc:
		r = (a + b + flags&CF) & mask
		return r, rest | addFlags(a, b, r, sign)
	case opSub, opCmp:
		r = (a - b) & mask
		return r, rest | subFlags(a, b, r, sign)
	case opSbb:
		r = (a - b - flags&CF) & mask
		return r, rest | subFlags(a, b, r, sign)
	case opOr:
		r = a | b
	case opXor:
		r = a ^ b
	default:
		r = a & b
	}
	return r, rest | resultFlags(r, sign)
}

// aluRX: any operation; a register, and a register or an immediate; any size.
func aluRX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	r, flags := alu(in.op, in.getA(s), in.getB(s), s.Flags, in.mask, in.sign)
	if in.op < opCmp {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// aluRM: a register, and memory.
func aluRM(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	b, ok := m.Load(in.address(s), int(in.size))
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(in.op, in.getA(s), b, s.Flags, in.mask, in.sign)
	if in.op < opCmp {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// aluMX: memory, and a register or an immediate.
func aluMX(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	a, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(in.op, a, in.getB(s), s.Flags, in.mask, in.sign)
	if in.op < opCmp && !m.Store(at, int(in.size), r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// The commonest of aluRX for 32 and 64 bits, where there is no shifting and
// nothing to keep.

func wide(in *Inst, s *arch.Regs) (a *uint64, b uint64) {
	return &s.R[in.aReg&15], s.R[in.bReg&15]&in.bMask + in.imm
}

func addWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	r := (a + b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | addFlags(a, b, r, in.sign)
	s.IP = in.next
	return arch.Next
}

func subWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	r := (a - b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | subFlags(a, b, r, in.sign)
	s.IP = in.next
	return arch.Next
}

func cmpWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	a := *d & in.mask
	s.Flags = s.Flags&^arith | subFlags(a, b, (a-b)&in.mask, in.sign)
	s.IP = in.next
	return arch.Next
}

func andWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := *d & b & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func orWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := (*d | b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func xorWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	r := (*d ^ b) & in.mask
	*d = r
	s.Flags = s.Flags&^arith | resultFlags(r, in.sign)
	s.IP = in.next
	return arch.Next
}

func testWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, b := wide(in, s)
	s.Flags = s.Flags&^arith | resultFlags(*d&b&in.mask, in.sign)
	s.IP = in.next
	return arch.Next
}

// inc and dec are add and sub of 1 that leave CF alone.

func incWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d := &s.R[in.aReg&15]
	a := *d & in.mask
	r := (a + 1) & in.mask
	*d = r
	s.Flags = s.Flags&^(arith&^CF) | addFlags(a, 1, r, in.sign)&^CF
	s.IP = in.next
	return arch.Next
}

func decWide(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d := &s.R[in.aReg&15]
	a := *d & in.mask
	r := (a - 1) & in.mask
	*d = r
	s.Flags = s.Flags&^(arith&^CF) | subFlags(a, 1, r, in.sign)&^CF
	s.IP = in.next
	return arch.Next
}

func inc(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	r = (a + 1) & in.mask
	return r, flags&^(arith&^CF) | addFlags(a, 1, r, in.sign)&^CF
}

func dec(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	r = (a - 1) & in.mask
	return r, flags&^(arith&^CF) | subFlags(a, 1, r, in.sign)&^CF
}

func neg(in *Inst, a, b, flags uint64) (r, newFlags uint64) {
	return alu(opSub, 0, a, flags, in.mask, in.sign)
}

func not(in *Inst, a, b, flags uint64) (r, newFlags uint64) { return ^a & in.mask, flags }

func execInc(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, inc) }
func execDec(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, dec) }
func execNeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, neg) }
func execNot(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return in.update(s, m, not) }

// execXadd: the register gets what a was, a gets the sum. If both are the same
// register the sum wins.
func execXadd(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	r, flags := alu(opAdd, a, in.getB(s), s.Flags, in.mask, in.sign)
	if in.mem && !in.storeA(s, m, r) {
		return arch.PageFault
	}
	in.setB(s, a)
	if !in.mem {
		in.setA(s, r)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// execCmpxchg compares the accumulator with a. As on the processor, a is
// written even if they differ, with what it held.
func execCmpxchg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	acc := s.R[RAX] & in.mask
	_, flags := alu(opCmp, acc, a, s.Flags, in.mask, in.sign)
	r := a
	if acc == a {
		r = in.getB(s)
	}
	if in.mem || acc == a {
		if !in.storeA(s, m, r) {
			return arch.PageFault
		}
	}
	if acc != a {
		merge(&s.R[RAX], in.size, a)
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// execMul and execImul multiply the accumulator by a, to a result twice as
// wide. CF and OF say that the upper half holds something.

func execMul(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := bits.Mul64(s.R[RAX]&in.mask, a)
	if in.size < 8 {
		hi = lo >> (8 * in.size)
	}
	in.setProduct(s, hi, lo, hi != 0)
	return arch.Next
}

func execImul(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := mulSigned(signExtend(s.R[RAX], in.size), signExtend(a, in.size))
	low := signExtend(lo, in.size)
	over := low != lo || hi != uint64(int64(lo)>>63)
	if in.size < 8 {
		hi = lo >> (8 * in.size)
	}
	in.setProduct(s, hi, lo, over)
	return arch.Next
}

func (in *Inst) setProduct(s *arch.Regs, hi, lo uint64, over bool) {
	if in.size == 1 {
		merge(&s.R[RAX], 2, lo)
	} else {
		merge(&s.R[RAX], in.size, lo)
		merge(&s.R[RDX], in.size, hi)
	}
	in.endMul(s, over)
}

func (in *Inst) endMul(s *arch.Regs, over bool) {
	s.Flags &^= arith
	if over {
		s.Flags |= CF | OF
	}
	s.IP = in.next
}

// mulSigned returns the 128 bits of a product of signed numbers.
func mulSigned(a, b uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a, b)
	return hi - b&uint64(int64(a)>>63) - a&uint64(int64(b)>>63), lo
}

// execImul2 is imul with a register result cut to size: of registers a and b, or, op 1, of b and
// the immediate.
func execImul2(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	var b uint64
	if in.mem {
		v, ok := m.Load(in.address(s), int(in.size))
		if !ok {
			return arch.PageFault
		}
		b = v
	} else {
		b = s.R[in.bReg&15] & in.mask
	}
	a := in.imm
	if in.op == 0 {
		a = in.getA(s)
	}
	hi, lo := mulSigned(signExtend(a, in.size), signExtend(b, in.size))
	in.setA(s, lo&in.mask)
	in.endMul(s, signExtend(lo, in.size) != lo || hi != uint64(int64(lo)>>63))
	return arch.Next
}

// dividend returns the accumulator of twice the operand size, zero-extended.
func (in *Inst) dividend(s *arch.Regs) (hi, lo uint64) {
	switch in.size {
	case 1:
		return 0, s.R[RAX] & 0xffff
	case 8:
		return s.R[RDX], s.R[RAX]
	}
	return 0, s.R[RDX]&in.mask<<(8*in.size) | s.R[RAX]&in.mask
}

func execDiv(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	d, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := in.dividend(s)
	if d <= hi {
		return arch.DivideError // zero too
	}
	q, r := bits.Div64(hi, lo, d)
	if q > in.mask {
		return arch.DivideError
	}
	in.setQuotient(s, q, r)
	return arch.Next
}

// execIdiv divides magnitudes: the quotient is cut towards zero, and the
// remainder has the sign of the dividend.
func execIdiv(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	hi, lo := in.dividend(s)
	if in.size < 8 {
		lo = signExtend(lo, 2*in.size)
		hi = uint64(int64(lo) >> 63)
	}
	negative := int64(hi) < 0
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi = -hi - borrow
	}
	d := signExtend(a, in.size)
	negativeQ := negative != (int64(d) < 0)
	if int64(d) < 0 {
		d = -d
	}
	if d <= hi {
		return arch.DivideError
	}
	q, r := bits.Div64(hi, lo, d)
	limit := in.mask >> 1
	if negativeQ {
		limit++
	}
	if q > limit {
		return arch.DivideError
	}
	if negativeQ {
		q = -q
	}
	if negative {
		r = -r
	}
	in.setQuotient(s, q&in.mask, r&in.mask)
	return arch.Next
}

func (in *Inst) setQuotient(s *arch.Regs, q, r uint64) {
	if in.size == 1 {
		merge(&s.R[RAX], 2, r<<8|q)
	} else {
		merge(&s.R[RAX], in.size, q)
		merge(&s.R[RDX], in.size, r)
	}
	s.Flags &^= arith
	s.IP = in.next
}

// arith are the flags that arithmetic sets.
const arith = CF | PF | AF | ZF | SF | OF

// ac is the alignment check flag; rf and vm are never pushed.
const (
	nt uint64 = 1 << 14
	rf uint64 = 1 << 16
	vm uint64 = 1 << 17
	ac uint64 = 1 << 18

	// What popf may change at privilege 0: everything but RF, VM, VIF, VIP and
	// the reserved bits (SDM vol. 2, POPF, table 4-16). IOPL is bits 12 and 13.
	poppable = arith | TF | IF | DF | 3<<12 | nt | ac | 1<<21

	// TrapClears are the flags that are cleared on the way to a handler, once
	// they are saved (SDM vol. 3, "Flag Usage By Exception- or Interrupt-Handler
	// Procedure").
	TrapClears = TF | IF | nt | rf | vm
)

// evenParity has PF's bit for each of the sixteen xors of a byte's halves.
const evenParity = 0x9669 << 2

// resultFlags returns PF, ZF and SF of a result cut to its size.
func resultFlags(r uint64, sign uint8) uint64 {
	var z uint64
	if r == 0 {
		z = ZF
	}
	return z | evenParity>>((r^r>>4)&15)&PF | r>>(sign&63)<<7
}

// addFlags returns all flags of r = a + b, or a + b + carry. All are cut to size.
func addFlags(a, b, r uint64, sign uint8) uint64 {
	carry := (a&b | (a|b)&^r) >> (sign & 63)
	overflow := ((a ^ r) & (b ^ r)) >> (sign & 63)
	return resultFlags(r, sign) | carry | overflow<<11 | (a^b^r)&AF
}

// subFlags returns all flags of r = a - b, or a - b - borrow. All are cut to size.
func subFlags(a, b, r uint64, sign uint8) uint64 {
	borrow := (^a&b | (^a|b)&r) >> (sign & 63)
	overflow := ((a ^ b) & (a ^ r)) >> (sign & 63)
	return resultFlags(r, sign) | borrow | overflow<<11 | (a^b^r)&AF
}

// A condition is a set of states of the five flags that conditions look at:
// bit i is set if the condition holds in state i. State bits: CF PF ZF SF OF.
// So deciding costs no branch.
func holds(cond uint32, flags uint64) bool {
	state := flags&1 | flags>>1&2 | flags>>4&12 | flags>>7&16
	return cond>>(state&31)&1 != 0
}

// conditions holds the sixteen in the order of their encoding (SDM vol. 1,
// appendix B).
var conditions = func() (t [16]uint32) {
	for state := range uint32(32) {
		bit := func(n int) bool { return state>>n&1 != 0 }
		c, p, z, s, o := bit(0), bit(1), bit(2), bit(3), bit(4)
		for i, holds := range [8]bool{o, c, z, c || z, s, p, s != o, z || s != o} {
			if holds {
				t[2*i] |= 1 << state
			} else {
				t[2*i+1] |= 1 << state
			}
		}
	}
	return t
}()
