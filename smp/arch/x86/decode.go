package x86

import (
	"errors"
	"fmt"

	"kpsim/smp/arch"
)

// What Decode refuses. The errors returned wrap these and name the bytes.
var (
	// ErrTruncated: the bytes at hand end before the instruction does.
	ErrTruncated = errors.New("truncated instruction")
	// ErrUnknown: no instruction, or none that is known here.
	ErrUnknown = errors.New("unknown instruction")
)

// A Mode is what the bits of the code segment make of the bytes (SDM vol. 1,
// 3.1). It has nothing to do with paging: segments are flat.
type Mode uint8

// The modes.
const (
	Mode64 Mode = iota // 64-bit mode
	Mode32             // protected mode with a 32-bit code segment
)

// Decode decodes an instruction of 64-bit mode: see Mode.Decode.
func Decode(b []byte, at arch.Addr) (Inst, error) { return Mode64.Decode(b, at) }

// Decode decodes the instruction that b begins with, as it stands at address
// at. b may hold more or less than one instruction. Errors wrap ErrTruncated
// and ErrUnknown.
//
// The parser says where the parts lie, the tables of the opcode maps whether
// the opcode exists. An instruction that doesn't exist is an error even if its
// length could be guessed. Two other decoders are asked in the tests, not here:
// see TestSecondOpinion and TestObjdumpForms.
func (m Mode) Decode(b []byte, at arch.Addr) (Inst, error) {
	var w window
	copy(w[:MaxLen], b)
	l := parse(&w, m)
	switch {
	case int(l.n) > len(b) && len(b) < MaxLen:
		return Inst{}, refuse(w, len(b), ErrTruncated)
	case l.n > MaxLen:
		return Inst{}, refuse(w, MaxLen, ErrUnknown)
	case !l.exists():
		return Inst{}, refuse(w, int(l.n), ErrUnknown)
	}

	in := Inst{mode: m, Addr: at, next: at + arch.Addr(l.n), Len: l.n, modrmPos: l.modrmPos, masksTraps: l.masksTraps(),
		drains: l.drains()}
	copy(in.raw[:], w[:l.n])
	if l.ripRelative() {
		in.ripDisp = l.dispPos
	}
	in.emulated = l.emulated()
	in.resolve(&l)
	in.choose(&l)
	return in, nil
}

// refuse makes Decode's error. It takes the bytes by value, so that those of
// the callers don't escape to the heap.
func refuse(w window, n int, err error) error { return fmt.Errorf("isa: % x: %w", w[:n], err) }

// little reads n bytes as a signed little-endian number.
func little(b []byte) uint64 {
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return signExtend(v, uint8(len(b)))
}

// signExtend extends a number of 0, 1, 2, 4 or 8 bytes.
func signExtend(v uint64, size uint8) uint64 {
	if size == 0 {
		return 0
	}
	n := 64 - 8*size
	return uint64(int64(v<<n) >> n)
}

// sizeMask has ones where an operand of that size has bits.
func sizeMask(size uint8) uint64 { return ^uint64(0) >> (64 - 8*size) }

// resolve fills in what doesn't depend on the opcode: the address of a memory
// operand and the immediate.
func (in *Inst) resolve(l *layout) {
	in.mem = l.isMem()
	in.imm = little(in.raw[l.immPos : l.immPos+l.immLen])
	in.addrMask = sizeMask(l.addrSize())
	if !in.mem {
		return
	}
	in.disp = little(in.raw[l.dispPos : l.dispPos+l.dispLen])
	switch {
	case l.ripRelative():
		in.disp += uint64(in.next)
		return
	case l.addrSize() == 2:
		in.resolve16(l)
		return
	case l.rm() == 5 && l.mod() == 0: // 32-bit mode: no base
		return
	case l.rm() != 4:
		in.base(l.rm() | l.rex&rexB<<3)
		return
	}
	if index := l.sib>>3&7 | l.rex&rexX<<2; index != byte(RSP) {
		in.indexReg, in.indexMul = index, 1<<(l.sib>>6)
	}
	if l.sib&7 != 5 || l.mod() != 0 {
		in.base(l.sib&7 | l.rex&rexB<<3)
	}
}

// resolve16 is resolve where addresses have 16 bits (SDM vol. 2, table 2-1):
// bx or bp, and si or di, or one of the four alone.
func (in *Inst) resolve16(l *layout) {
	rm := l.rm()
	if rm < 4 {
		in.indexReg, in.indexMul = byte(RSI)|rm&1, 1
	}
	switch {
	case rm == 6 && l.mod() == 0:
	case rm == 4, rm == 5:
		in.base(byte(RSI) | rm&1)
	case rm == 2, rm == 3, rm == 6:
		in.base(byte(RBP))
	default:
		in.base(byte(RBX))
	}
}

func (in *Inst) base(r byte) { in.baseReg, in.baseMask = r, ^uint64(0) }

// setSize sets the size of the operands.
func (in *Inst) setSize(size uint8) {
	in.size, in.bSize = size, size
	in.mask, in.sign = sizeMask(size), 8*size-1
}

// regA makes register r operand a.
func (in *Inst) regA(l *layout, r byte) {
	in.aReg, in.aShift = byteReg(l, r, in.size)
	switch in.size {
	case 1, 2:
		in.keep = ^(in.mask << in.aShift)
	}
}

// regB makes register r operand b.
func (in *Inst) regB(l *layout, r byte) {
	in.bReg, in.bShift = byteReg(l, r, in.bSize)
	in.bMask = sizeMask(in.bSize)
	in.imm = 0
}

// byteReg says where a register's byte lies: without REX, numbers 4 to 7 are
// the second bytes of 0 to 3.
func byteReg(l *layout, r byte, size uint8) (n, shift uint8) {
	if size == 1 && l.rex == 0 && r >= 4 {
		return r - 4, 8
	}
	return r, 0
}

// g is the register that ModRM's reg field names; e the one of its rm field.
func (l *layout) g() byte { return l.reg() | l.rex&rexR<<1 }
func (l *layout) e() byte { return l.rm() | l.rex&rexB<<3 }

// plus is the register in an opcode's low bits.
func (l *layout) plus() byte { return l.op&7 | l.rex&rexB<<3 }

// opSize is the operand size of an instruction that has all of 2, 4 and 8.
func (l *layout) opSize() uint8 {
	switch {
	case l.rex&rexW != 0:
		return 8
	case l.opsize:
		return 2
	}
	return 4
}

// byteOr is opSize for the pairs of opcodes of which the even one is for bytes.
func (l *layout) byteOr() uint8 {
	if l.op&1 == 0 {
		return 1
	}
	return l.opSize()
}

// stackSize is the operand size of push and pop.
func (l *layout) stackSize() uint8 {
	switch {
	case l.opsize && l.rex&rexW == 0:
		return 2
	case l.mode == Mode32:
		return 4
	}
	return 8
}

// The operand forms, by the SDM's letters: E is ModRM's rm, G its reg, I an
// immediate. Where E is memory only the register is set.

func (in *Inst) formEG(l *layout, size uint8) {
	in.formE(l, size)
	in.regB(l, l.g())
}

func (in *Inst) formGE(l *layout, size uint8) { in.formGEsized(l, size, size) }

// formGEsized is for movzx and movsx, whose E is smaller than G.
func (in *Inst) formGEsized(l *layout, size, from uint8) {
	in.setSize(size)
	in.bSize = from
	in.regA(l, l.g())
	if !in.mem {
		in.regB(l, l.e())
	}
}

func (in *Inst) formE(l *layout, size uint8) {
	in.setSize(size)
	if !in.mem {
		in.regA(l, l.e())
	}
}

func (in *Inst) formEI(l *layout, size uint8) {
	in.formE(l, size)
	in.imm &= in.mask
}

// formRI: a register and an immediate.
func (in *Inst) formRI(l *layout, size uint8, r byte) {
	in.setSize(size)
	in.regA(l, r)
	in.imm &= in.mask
}

// address computes where the memory operand lies.
func (in *Inst) address(s *arch.Regs) arch.Addr {
	return arch.Addr((s.R[in.baseReg&15]&in.baseMask + s.R[in.indexReg&15]*in.indexMul + in.disp) & in.addrMask)
}

// getA reads register a.
func (in *Inst) getA(s *arch.Regs) uint64 { return s.R[in.aReg&15] >> (in.aShift & 63) & in.mask }

// setA writes register a. A write of 32 bits clears the upper half; a shorter
// one leaves the rest.
func (in *Inst) setA(s *arch.Regs, v uint64) {
	r := &s.R[in.aReg&15]
	*r = *r&in.keep | v<<(in.aShift&63)
}

// getB reads register b or the immediate.
func (in *Inst) getB(s *arch.Regs) uint64 { return s.R[in.bReg&15]>>(in.bShift&63)&in.bMask + in.imm }

// loadA reads operand a, where it may be memory.
func (in *Inst) loadA(s *arch.Regs, m arch.Memory) (v uint64, ok bool) {
	if in.mem {
		return m.Load(in.address(s), int(in.size))
	}
	return in.getA(s), true
}

// storeA writes operand a, where it may be memory.
func (in *Inst) storeA(s *arch.Regs, m arch.Memory, v uint64) (ok bool) {
	if in.mem {
		return m.Store(in.address(s), int(in.size), v)
	}
	in.setA(s, v)
	return true
}

// loadB reads operand b, where it may be memory.
func (in *Inst) loadB(s *arch.Regs, m arch.Memory) (v uint64, ok bool) {
	if in.mem {
		return m.Load(in.address(s), int(in.bSize))
	}
	return in.getB(s), true
}

// update reads operand a, gives it to f with operand b and the flags, and writes
// what f returns: nothing at all if memory faults.
func (in *Inst) update(s *arch.Regs, m arch.Memory,
	f func(in *Inst, a, b, flags uint64) (r, newFlags uint64)) arch.Outcome {
	a, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	r, flags := f(in, a, in.getB(s), s.Flags)
	if !in.storeA(s, m, r) {
		return arch.PageFault
	}
	s.Flags = flags
	s.IP = in.next
	return arch.Next
}

// merge writes v to the low size bytes of an implicit register.
func merge(r *uint64, size uint8, v uint64) {
	switch size {
	case 8:
		*r = v
	case 4:
		*r = v & 0xffff_ffff
	case 2:
		*r = *r&^0xffff | v&0xffff
	case 1:
		*r = *r&^0xff | v&0xff
	}
}
