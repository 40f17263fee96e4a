package arm64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// A kind says what is done to register m to make it the second operand.
type kind uint8

const (
	plain   kind = iota // masked, then shifted left
	shiftLR             // shifted right
	shiftAR
	rotated
	extended // sign-extended, then shifted left
)

// second returns the second operand. Bits above the operand size are whatever they are.
func (in *Inst) second(r *arch.Regs) uint64 {
	if in.kind != plain {
		return in.unusual(r)
	}
	return ((r.R[in.m]&in.bMask)<<(in.lsl&63) + in.imm) ^ in.flip
}

// unusual is second for the kinds other than plain.
func (in *Inst) unusual(r *arch.Regs) uint64 {
	v := r.R[in.m] & in.bMask
	switch in.kind {
	case shiftLR:
		v >>= in.lsl & 63
	case shiftAR:
		v = uint64(int64(signExtend(v, in.up)) >> (in.lsl & 63))
	case rotated:
		v = rotateRight(v, uint(in.lsl), in.width())
	case extended:
		v = signExtend(v, in.up) << (in.lsl & 63)
	}
	return v ^ in.flip
}

// rotateRight rotates the lower width bits of v, the upper ones of which are zero.
func rotateRight(v uint64, by, width uint) uint64 {
	if width == 32 {
		return uint64(bits.RotateLeft32(uint32(v), -int(by)))
	}
	return bits.RotateLeft64(v, -int(by))
}

// constant makes the second operand an immediate.
func (in *Inst) constant(v uint64) { in.m, in.bMask, in.imm = uint8(ZR), 0, v }

// shifted makes it register m, shifted by a constant: the fields shift, Rm and imm6 of what the ARM
// ARM calls a shifted register. The width must be set.
func (in *Inst) shifted(w word) error {
	by := w.field(10, 6)
	if by >= uint64(in.width()) {
		return ErrUnknown
	}
	in.m, in.bMask, in.lsl, in.up = w.reg(16), in.mask, uint8(by), 63-in.sign
	if by != 0 {
		in.kind = [...]kind{plain, shiftLR, shiftAR, rotated}[w.field(22, 2)]
	}
	return nil
}

// extend makes it register m, extended as the field option at bit 13 says, then shifted left (ARM ARM,
// ExtendReg).
func (in *Inst) extend(w word, lsl uint64) {
	option := w.field(13, 3)
	in.m, in.lsl = w.reg(16), uint8(lsl)
	in.up = 64 - 8<<(option&3)
	in.bMask = ^uint64(0) >> in.up
	if option >= 4 {
		in.kind = extended
	}
}

// bitMasks returns the immediate of a logical instruction, given the fields N, imms and immr (ARM ARM,
// DecodeBitMasks): a rotated run of ones, repeated in elements of 2, 4, 8, 16, 32 or 64 bits. ok
// false: there is no such immediate.
func bitMasks(n, imms, immr uint64, width uint) (v uint64, ok bool) {
	log := bits.Len64(n<<6|^imms&0x3f) - 1 // of the size of an element
	if log < 1 || 1<<log > width {
		return 0, false
	}
	size := uint(1) << log
	ones, by := uint(imms)&(size-1), uint(immr)&(size-1)
	if ones == size-1 {
		return 0, false
	}
	e := uint64(1)<<(ones+1) - 1
	all := ^uint64(0) >> (64 - size)
	e = (e>>by | e<<(size-by)) & all
	for ; size < width; size *= 2 {
		e |= e << size
	}
	return e, true
}

// conditions has, for each condition, the set of the values of NZCV for which it holds (ARM ARM C1.2,
// "Condition code").
var conditions = func() (sets [16]uint16) {
	for flags := range uint16(16) {
		n, z, c, v := flags>>3&1 != 0, flags>>2&1 != 0, flags>>1&1 != 0, flags&1 != 0
		for i, holds := range [8]bool{z, c, n, v, c && !z, n == v, n == v && !z, true} {
			if holds {
				sets[2*i] |= 1 << flags
			} else {
				sets[2*i+1] |= 1 << flags
			}
		}
	}
	sets[15] = sets[14] // nv is al
	return sets
}()

// holds reports whether the instruction's condition does.
func (in *Inst) holds(flags uint64) bool { return in.cond>>(flags>>28&15)&1 != 0 }
