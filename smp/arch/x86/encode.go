package x86

import (
	"encoding/binary"
	"math"

	"kpsim/smp/arch"
)

// What the engine writes.
const (
	Int3      = 0xCC // the breakpoint
	OpJump    = 0xE9 // jmp rel32
	opCall    = 0xE8 // call rel32
	JumpLen   = 5    // of jmp rel32 and call rel32
	maxNopLen = 9    // of the nops the SDM recommends
)

// nops are the recommended ones of 1 to 9 bytes (SDM vol. 2, NOP, table 4-12).
var nops = [maxNopLen + 1]string{
	1: "\x90",
	2: "\x66\x90",
	3: "\x0f\x1f\x00",
	4: "\x0f\x1f\x40\x00",
	5: "\x0f\x1f\x44\x00\x00",
	6: "\x66\x0f\x1f\x44\x00\x00",
	7: "\x0f\x1f\x80\x00\x00\x00\x00",
	8: "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	9: "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
}

// Nop5 is the nop that a jump replaces.
var Nop5 = [JumpLen]byte{0x0f, 0x1f, 0x44, 0x00, 0x00}

// NopN returns n bytes of nops, as few of them as it takes.
func NopN(n int) []byte {
	b := make([]byte, 0, max(n, 0))
	for n > 0 {
		k := min(n, maxNopLen)
		b = append(b, nops[k]...)
		n -= k
	}
	return b
}

// JumpRel32 encodes jmp target, to stand at address at; not ok if it is out of
// reach.
func JumpRel32(at, target arch.Addr) (b [JumpLen]byte, ok bool) { return rel32(OpJump, at, target) }

// CallRel32 encodes call target, to stand at address at; not ok if it is out of
// reach.
func CallRel32(at, target arch.Addr) (b [JumpLen]byte, ok bool) { return rel32(opCall, at, target) }

func rel32(op byte, at, target arch.Addr) (b [JumpLen]byte, ok bool) {
	d, ok := displacement(at+JumpLen, target)
	if !ok {
		return b, false
	}
	b[0] = op
	binary.LittleEndian.PutUint32(b[1:], d)
	return b, true
}

// displacement returns the 32 bits that lead from one address to another.
func displacement(from, to arch.Addr) (uint32, bool) {
	d := int64(to - from)
	return uint32(d), d >= math.MinInt32 && d <= math.MaxInt32
}
