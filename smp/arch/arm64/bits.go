package arm64

import (
	"hash/crc32"
	"math/bits"

	"kpsim/smp/arch"
)

// execField is ubfm: it moves a field of register n and clears the other bits.
func execField(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]>>(in.down&63)&in.bMask<<(in.lsl&63))
}

// execSignedField is sbfm: the bits above the field are copies of its sign.
func execSignedField(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, signExtend(r.R[in.n]>>(in.down&63), in.up)<<(in.lsl&63))
}

// execInsertField is bfm: the bits around the field keep their value.
func execInsertField(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := r.R[in.n] >> (in.down & 63) & in.bMask
	return in.set(r, r.R[in.d]&^(in.bMask<<(in.lsl&63))|v<<(in.lsl&63))
}

// execExtract takes bits from two registers, n being the upper one.
func execExtract(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.m]&in.mask>>in.lsl|r.R[in.n]<<(uint8(in.width())-in.lsl))
}

// The shifts by a register take its value modulo the operand size.

func execShiftLeft(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]<<(r.R[in.m]&uint64(in.sign)))
}

func execShiftRight(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, r.R[in.n]&in.mask>>(r.R[in.m]&uint64(in.sign)))
}

func execShiftSigned(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, uint64(int64(signExtend(r.R[in.n], 63-in.sign))>>(r.R[in.m]&uint64(in.sign))))
}

func execRotate(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, rotateRight(r.R[in.n]&in.mask, uint(r.R[in.m]&uint64(in.sign)), in.width()))
}

// execReverseBits is rbit.
func execReverseBits(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, bits.Reverse64(r.R[in.n])>>(63-in.sign))
}

// execReverse16 reverses the bytes of each halfword, execReverse32 those of each word, and
// execReverse64 those of the whole register. rev of a 32-bit register is execReverse32.
func execReverse16(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	const even = 0x00ff_00ff_00ff_00ff
	v := r.R[in.n]
	return in.set(r, v&even<<8|v>>8&even)
}

func execReverse32(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, bits.RotateLeft64(bits.ReverseBytes64(r.R[in.n]), 32))
}

func execReverse64(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, bits.ReverseBytes64(r.R[in.n]))
}

// execCountZeros is clz. execCountSigns is cls: it counts the bits below the sign that equal it.
func execCountZeros(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, uint64(bits.LeadingZeros64(r.R[in.n]&in.mask))-uint64(63-in.sign))
}

func execCountSigns(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := signExtend(r.R[in.n], 63-in.sign)
	v ^= uint64(int64(v) >> 63)
	return in.set(r, uint64(bits.LeadingZeros64(v))-uint64(63-in.sign)-1)
}

// A division by zero gives zero, and the one that overflows gives the dividend (ARM ARM C6.2, "SDIV").

func execDivide(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	v := r.R[in.m] & in.mask
	if v != 0 {
		v = r.R[in.n] & in.mask / v
	}
	return in.set(r, v)
}

func execDivideSigned(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	x, y := int64(signExtend(r.R[in.n], 63-in.sign)), int64(signExtend(r.R[in.m], 63-in.sign))
	if y != 0 {
		y = x / y // in Go, too, the least number divided by -1 is itself
	}
	return in.set(r, uint64(y))
}

// execMultiplyHigh is umulh, execMultiplyHighSigned smulh: the upper half of the product.
func execMultiplyHigh(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	hi, _ := bits.Mul64(r.R[in.n], r.R[in.m])
	return in.set(r, hi)
}

func execMultiplyHighSigned(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	x, y := r.R[in.n], r.R[in.m]
	hi, _ := bits.Mul64(x, y)
	return in.set(r, hi-uint64(int64(x)>>63)&y-uint64(int64(y)>>63)&x)
}

// The tables of crc32 and crc32c. The instructions invert neither before nor after, unlike the
// functions of hash/crc32.
var (
	crcTable  = crc32.MakeTable(crc32.IEEE)
	crcCTable = crc32.MakeTable(crc32.Castagnoli)
)

func execCRC(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, uint64(in.crc(r, crcTable)))
}

func execCRCC(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, uint64(in.crc(r, crcCTable)))
}

// crc adds the lower size bytes of register m to the checksum in register n.
func (in *Inst) crc(r *arch.Regs, table *crc32.Table) uint32 {
	c, v := uint32(r.R[in.n]), r.R[in.m]
	for range in.size {
		c = table[byte(c)^byte(v)] ^ c>>8
		v >>= 8
	}
	return c
}
