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

	in := Inst{Op: arch.Op{Addr: at, Len: l.n, Drains: l.drains()}, mode: m, next: at + arch.Addr(l.n),
		modrmPos: l.modrmPos, masksTraps: l.masksTraps()}
	copy(in.raw[:], w[:l.n])
	if l.ripRelative() {
		in.ripDisp = l.dispPos
	}
	in.emulated = l.emulated()
	c := chooser{Inst: &in, l: &l}
	c.resolve()
	c.choose()
	in.Run = in.exec.op()
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
func (c *chooser) resolve() {
	c.mem = c.l.isMem()
	c.imm = little(c.raw[c.l.immPos : c.l.immPos+c.l.immLen])
	c.addrMask = sizeMask(c.l.addrSize())
	if !c.mem {
		return
	}
	c.disp = little(c.raw[c.l.dispPos : c.l.dispPos+c.l.dispLen])
	switch {
	case c.l.ripRelative():
		c.disp += uint64(c.next)
		return
	case c.l.addrSize() == 2:
		c.resolve16()
		return
	case c.l.rm() == 5 && c.l.mod() == 0: // 32-bit mode: no base
		return
	case c.l.rm() != 4:
		c.base(c.l.rm() | c.l.rex&rexB<<3)
		return
	}
	if index := c.l.sib>>3&7 | c.l.rex&rexX<<2; index != byte(RSP) {
		c.indexReg, c.indexMul = index, 1<<(c.l.sib>>6)
	}
	if c.l.sib&7 != 5 || c.l.mod() != 0 {
		c.base(c.l.sib&7 | c.l.rex&rexB<<3)
	}
}

// resolve16 is resolve where addresses have 16 bits (SDM vol. 2, table 2-1):
// bx or bp, and si or di, or one of the four alone.
func (c *chooser) resolve16() {
	rm := c.l.rm()
	if rm < 4 {
		c.indexReg, c.indexMul = byte(RSI)|rm&1, 1
	}
	switch {
	case rm == 6 && c.l.mod() == 0:
	case rm == 4, rm == 5:
		c.base(byte(RSI) | rm&1)
	case rm == 2, rm == 3, rm == 6:
		c.base(byte(RBP))
	default:
		c.base(byte(RBX))
	}
}

func (p *memOperand) base(r byte) { p.baseReg, p.baseMask = r, ^uint64(0) }

// setSize sets the size of the operands.
func (o *operands) setSize(size uint8) {
	o.size, o.bSize = size, size
	o.mask, o.sign = sizeMask(size), 8*size-1
}

// regA makes register r operand a.
func (c *chooser) regA(r byte) {
	c.aReg, c.aShift = byteReg(c.l, r, c.size)
	switch c.size {
	case 1, 2:
		c.keepMask = ^(c.mask << c.aShift)
	}
}

// regB makes register r operand b.
func (c *chooser) regB(r byte) {
	c.bReg, c.bShift = byteReg(c.l, r, c.bSize)
	c.bMask = sizeMask(c.bSize)
	c.imm = 0
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

func (c *chooser) formEG(size uint8) {
	c.formE(size)
	c.regB(c.l.g())
}

func (c *chooser) formGE(size uint8) { c.formGEsized(size, size) }

// formGEsized is for movzx and movsx, whose E is smaller than G.
func (c *chooser) formGEsized(size, from uint8) {
	c.setSize(size)
	c.bSize = from
	c.regA(c.l.g())
	if !c.mem {
		c.regB(c.l.e())
	}
}

func (c *chooser) formE(size uint8) {
	c.setSize(size)
	if !c.mem {
		c.regA(c.l.e())
	}
}

func (c *chooser) formEI(size uint8) {
	c.formE(size)
	c.imm &= c.mask
}

// formRI: a register and an immediate.
func (c *chooser) formRI(size uint8, r byte) {
	c.setSize(size)
	c.regA(r)
	c.imm &= c.mask
}

// address computes where the memory operand lies.
func (p *memOperand) address(s *arch.Regs) arch.Addr {
	return arch.Addr((s.R[p.baseReg&15]&p.baseMask + s.R[p.indexReg&15]*p.indexMul + p.disp) & p.addrMask)
}

// getA reads register a.
func (o *operands) getA(s *arch.Regs) uint64 { return s.R[o.aReg&15] >> (o.aShift & 63) & o.mask }

// setA writes register a. A write of 32 bits clears the upper half; a shorter
// one leaves the rest.
func (o *operands) setA(s *arch.Regs, v uint64) {
	r := &s.R[o.aReg&15]
	*r = *r&o.keepMask | v<<(o.aShift&63)
}

// getB reads register b or the immediate.
func (o *operands) getB(s *arch.Regs) uint64 { return s.R[o.bReg&15]>>(o.bShift&63)&o.bMask + o.imm }

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
