package isa

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Copyable reports whether the instruction may run at another address with no
// fix-up but that of its RIP-relative displacement. The rule is that of a
// kernel's booster, whose answers for each opcode were recorded on Linux 6.12
// and 6.1; it is stricter than it need be, and it is what decides whether a
// probe can be optimized.
func (in *Inst) Copyable() bool { return in.copyable }

// Emulated reports whether a probe must emulate the instruction, because
// stepping a copy would leave a wrong IP or a wrong interrupt flag: pushf,
// popf, cli, sti, ret, call, jmp, jcc, loop, jrcxz, and call and jmp through a
// register.
func (in *Inst) Emulated() bool { return in.emulated }

// copyable0F are the opcodes behind 0f that may be copied; prefixes don't
// matter there. Bit 0 is the column x0.
var copyable0F = bitmap256{
	0x034c, 0x8000, 0x000f, 0x0002, 0xffff, 0, 0xcfff, 0xc0f0,
	0, 0xffff, 0xbb3b, 0xf8ff, 0xff03, 0xbb2e, 0xbb26, 0x772e,
}

func (l *layout) copyable() bool {
	if l.encoding == legacy {
		switch l.space {
		case map0F:
			return copyable0F.has(l.op)
		case map0F38, map0F3A:
			return false
		}
	}
	// VEX and EVEX are judged by their opcode byte as if it were a one-byte one.
	if l.cs || l.addrsize {
		return false
	}
	switch op := l.op; {
	case op == 0x62, l.encoding != legacy && (op == 0xf0 || op == 0xf2 || op == 0xf3): // bound; misread as prefixes
		return false
	case op&0xf0 == 0x70, op == 0x9a, op >= 0xcc && op <= 0xce, op == 0xd6,
		op >= 0xd8 && op <= 0xe3, op == 0xe8, op == 0xe9, op == 0xea, op == 0xeb, op == 0xf1, op == 0xf4:
		return false
	case op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3:
		return l.reg() != 6
	case op == 0xf6, op == 0xf7:
		return l.reg() != 1
	case op == 0xfe:
		return l.reg() < 2
	case op == 0xff:
		return l.reg() < 2 || l.reg() == 4
	}
	return true
}

func (l *layout) emulated() bool {
	if l.encoding != legacy {
		return false
	}
	switch op := l.op; l.space {
	case map0F:
		return op&0xf0 == 0x80
	case map1:
		switch op {
		case 0x9c, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xe9, 0xeb, 0xfa, 0xfb:
			return true
		case 0xff:
			return !l.isMem() && (l.reg() == 2 || l.reg() == 4)
		}
		return op&0xf0 == 0x70
	}
	return false
}

// Relocate writes to dst the instruction as it must be to run at address to: a
// RIP-relative displacement is changed so that it refers to the same place. It
// returns the length, which is the same. One that isn't Copyable can be stepped
// out of line all the same, if control just goes on behind it.
func (in *Inst) Relocate(dst []byte, to Addr) (n int, err error) {
	if !in.copyable && in.flow != FlowNext {
		return 0, fmt.Errorf("isa: % x at %#x: %w", in.raw[:in.Len], uint64(in.Addr), ErrNotCopyable)
	}
	n = int(in.Len)
	if len(dst) < n {
		return 0, fmt.Errorf("isa: % x: %w: room for %d bytes of %d", in.raw[:n], ErrTruncated, len(dst), n)
	}
	copy(dst, in.raw[:n])
	if in.ripDisp == 0 {
		return n, nil
	}
	d, ok := displacement(to+Addr(n), Addr(in.disp))
	// With addresses of 32 bits the sum is cut to those (SDM vol. 2, 2.2.1.6 and
	// 3.3.7 of vol. 1), so the low half of the displacement always does.
	if !ok && in.addrMask == ^uint64(0) {
		return 0, fmt.Errorf("isa: % x at %#x, moved to %#x: %w", in.raw[:n], uint64(in.Addr), uint64(to), ErrReach)
	}
	binary.LittleEndian.PutUint32(dst[in.ripDisp:], d)
	return n, nil
}

// displacement returns the 32 bits that lead from one address to another.
func displacement(from, to Addr) (uint32, bool) {
	d := int64(to - from)
	return uint32(d), d >= math.MinInt32 && d <= math.MaxInt32
}
