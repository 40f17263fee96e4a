package native

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A memOperand is how an encoding says where its operand lies.
type memOperand struct {
	base, index arch.Reg // none: noReg
	scale       uint64
	disp        uint64 // sign-extended
	rip         bool
	bits        uint8 // of the address: 16, 32, 64
}

const noReg arch.Reg = 0xff

// An encoded says what encode chose.
type encoded struct {
	mem    memOperand
	reg    arch.Reg // of the field reg
	rm     arch.Reg // the register that r/m names
	tailAt int      // where immediates begin
}

// boundaries are the values at which results change their kind.
var boundaries = [...]uint64{
	0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x100, 0x7fff, 0x8000,
	0x8001, 0xffff,
	0x10000, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0x1_0000_0000, 0x7fff_ffff_ffff_ffff,
	0x8000_0000_0000_0000,
	0x8000_0000_0000_0001, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ff80, 0xffff_ffff_ffff_8000,
	0xffff_ffff_8000_0000, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 0x0f0f_0f0f_0f0f_0f0f, 0x0123_4567_89ab_cdef,
	0x9999_9999_9999_9999,
}

// value draws an operand: a boundary three times out of four.
func (r *random) value() uint64 {
	switch r.below(8) {
	case 0:
		return r.next()
	case 1:
		return r.next() >> r.below(64)
	}
	return boundaries[r.below(len(boundaries))]
}

// encode writes an instruction of the form with registers, addressing and
// immediates drawn from r. Enough bytes follow it for any immediate.
func (f *form) encode(r *random) (code []byte, e encoded) {
	code = append(code, f.prefixes...)
	wide := f.mode == x86.Mode64
	e.reg, e.rm = arch.Reg(r.below(16)), arch.Reg(r.below(16))
	vvvv := byte(r.below(16))
	if !wide {
		e.reg, e.rm, vvvv = e.reg&7, e.rm&7, vvvv&7
	} else if !f.w && !f.vex && r.one(2) { // no REX: ah, ch, dh, bh
		e.reg, e.rm = e.reg&7, e.rm&7
	}
	if f.group >= 0 {
		e.reg = arch.Reg(f.group)
	}
	if r.one(8) {
		vvvv = 0 // written as 1111: of instructions that don't use it
	}
	var modrm []byte
	rexX, rexB := byte(0), byte(e.rm)>>3
	if f.mem {
		modrm, e.mem, rexX, rexB = f.address(r, e)
	} else {
		modrm = []byte{0xc0 | byte(e.reg)&7<<3 | byte(e.rm)&7}
	}
	rex := byte(e.reg)>>3<<2 | rexX<<1 | rexB
	if f.w {
		rex |= 8
	}
	switch {
	case f.vex:
		if f.op == 0xf0 && f.space == 4 {
			vvvv = 0
		}
		code = append(code, 0xc4, ^rex&7<<5|f.space-1,
			rex&8<<4|(^vvvv&15)<<3|byte(toInt(f.long))<<2|[4]byte{0, 1, 2, 3}[f.pp])
	default:
		if rex != 0 || wide && r.one(4) {
			if f.mem || e.rm >= 8 || e.reg >= 8 || f.w || r.one(2) {
				code = append(code, 0x40|rex)
			}
		}
		switch f.space {
		case 2:
			code = append(code, 0x0f)
		case 3:
			code = append(code, 0x0f, 0x38)
		case 4:
			code = append(code, 0x0f, 0x3a)
		}
	}
	code = append(code, f.op)
	if f.modrm {
		code = append(code, modrm...)
	}
	e.tailAt = len(code)
	v := r.value()
	for range 8 {
		code = append(code, byte(v))
		v >>= 8
	}
	return code, e
}

// address draws ModRM, SIB and displacement of a memory operand.
func (f *form) address(r *random, e encoded) (b []byte, m memOperand, rexX, rexB byte) {
	short := f.has(0x67)
	m = memOperand{base: noReg, index: noReg, scale: 1, bits: 64}
	switch {
	case f.mode == x86.Mode64 && short, f.mode == x86.Mode32 && !short:
		m.bits = 32
	case f.mode == x86.Mode32:
		m.bits = 16
		return f.address16(r, e, m)
	}
	reg := byte(e.reg) & 7 << 3
	disp := r.displacement()
	limit := 16
	if f.mode == x86.Mode32 || !f.w && !f.vex && e.reg < 8 && r.one(2) {
		limit = 8
	}
	mod := byte(r.below(3))
	base := arch.Reg(r.below(limit))
	index := arch.Reg(r.below(limit))
	scale := r.below(4)
	kind := r.below(8)
	switch {
	case kind == 0: // rip, or an absolute address
		m.rip = f.mode == x86.Mode64
		m.disp = disp32(disp)
		return append(b, reg|5, byte(m.disp), byte(m.disp>>8), byte(m.disp>>16), byte(m.disp>>24)), m, 0, 0
	case kind < 4 && base&7 != 4: // no SIB
		if mod == 0 && base&7 == 5 {
			mod = 1
		}
		b = append(b, mod<<6|reg|byte(base)&7)
		m.base = base
	default:
		b = append(b, mod<<6|reg|4, byte(scale)<<6|byte(index)&7<<3|byte(base)&7)
		m.scale = 1 << scale
		rexX = byte(index) >> 3
		if index != x86.RSP {
			m.index = index
		}
		if mod == 0 && base&7 == 5 {
			m.disp = disp32(disp)
			return append(b, byte(m.disp), byte(m.disp>>8), byte(m.disp>>16), byte(m.disp>>24)), m, rexX,
				byte(base) >> 3
		}
		m.base = base
	}
	switch mod {
	case 1:
		m.disp = uint64(int8(disp))
		b = append(b, byte(m.disp))
	case 2:
		m.disp = disp32(disp)
		b = append(b, byte(m.disp), byte(m.disp>>8), byte(m.disp>>16), byte(m.disp>>24))
	}
	return b, m, rexX, byte(base) >> 3
}

func disp32(v uint64) uint64 { return uint64(int64(int32(v))) }

// displacement is small, or just anything.
func (r *random) displacement() uint64 {
	if r.one(2) {
		return r.value()
	}
	return uint64(r.below(512) - 256)
}

// address16: SDM vol. 2, table 2-1.
func (f *form) address16(r *random, e encoded, m memOperand) (b []byte, _ memOperand, rexX, rexB byte) {
	rm, mod := byte(r.below(8)), byte(r.below(3))
	b = append(b, mod<<6|byte(e.reg)&7<<3|rm)
	disp := r.displacement()
	m.base = [...]arch.Reg{x86.RBX, x86.RBX, x86.RBP, x86.RBP, x86.RSI, x86.RDI, x86.RBP, x86.RBX}[rm]
	m.index = [...]arch.Reg{x86.RSI, x86.RDI, x86.RSI, x86.RDI, noReg, noReg, noReg, noReg}[rm]
	switch {
	case mod == 1:
		m.disp = uint64(int8(disp))
		b = append(b, byte(m.disp))
	case mod == 2, rm == 6:
		if mod == 0 {
			m.base = noReg
		}
		m.disp = uint64(int16(disp))
		b = append(b, byte(m.disp), byte(m.disp>>8))
	}
	return b, m, 0, 0
}

// fixed reports whether no register takes part.
func (m *memOperand) fixed() bool { return m.base == noReg && m.index == noReg }

// aim gives base and index values with which the operand lies at address a, or
// next to it if a scale is in the way.
func (m *memOperand) aim(s *arch.Regs, a uint64, r *random) {
	width := uint64(1)<<(m.bits-1)<<1 - 1
	junk := func() uint64 { // what an address of fewer bits doesn't see
		if m.bits == 64 || r.one(2) {
			return 0
		}
		return r.next() &^ width
	}
	switch {
	case m.base != noReg:
		if m.index == m.base {
			// base*(1+scale): only its own value will do; where the page is reached it is by chance
			v := (a - m.disp) & width / (1 + m.scale)
			s.R[m.base] = v | junk()
			return
		}
		if m.index != noReg {
			s.R[m.index] = uint64(r.below(256)) | junk()
			if r.one(4) {
				s.R[m.index] = r.value()
			}
		}
		v := a - m.disp
		if m.index != noReg {
			v -= s.R[m.index] * m.scale
		}
		s.R[m.base] = v&width | junk()
	case m.index != noReg:
		seen := width / m.scale // the bits that the shift leaves
		s.R[m.index] = (a-m.disp)&width/m.scale&seen | r.next()&^seen
	}
}

// absolute makes an operand without registers lie at address a.
func (m *memOperand) absolute(code []byte, e *encoded, n int, a uint64) {
	if m.rip {
		a -= uint64(codeAt) + uint64(n)
	}
	size := 4
	if m.bits == 16 {
		size = 2
	}
	putLittle(code[e.tailAt-size:], size, a)
	m.disp = a
}
