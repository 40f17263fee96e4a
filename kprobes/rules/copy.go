package rules

import (
	"encoding/binary"
	"math"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Copy appends to dst v's instruction as it must be to run at address to. not ok: a
// RIP-relative operand is out of reach, and the probe is refused with -EINVAL.
//
// v is a verdict of the function loaded last, with errno 0 and not through ftrace.
func (j *Judge) Copy(dst []byte, v *Verdict, to arch.Addr) (copied []byte, ok bool) {
	at := v.Offset + v.Delta
	if j.k.numbers() != nil { // what is relative is simulated
		return append(dst, j.f.Code[at:at+v.Len]...), true
	}
	return j.move(dst, at, j.decodeAt(at), to)
}

// JumpsBack reports whether the copy of v's probe can be followed by a jump back, in
// any edition and build. v is as for Copy.
func (j *Judge) JumpsBack(v *Verdict) bool {
	at := v.Offset + v.Delta
	if j.k.numbers() != nil {
		return false
	}
	in := j.decodeAt(at)
	return j.jumpBack(at, &in).Kind == None
}

// Slot appends to dst the content of the slot of v's probe, at address slot: the copy,
// and after it a jump back if it is boosted, else an int3 (5.13 and later; before, it
// is stepped by #DB). not ok: as for Copy.
//
// 2.6 copies 16 bytes; those after the instruction are left out here. 4.15 writes the
// jump also where CONFIG_PREEMPT prevents its use.
func (j *Judge) Slot(dst []byte, v *Verdict, slot arch.Addr) (copied []byte, ok bool) {
	at := v.Offset + v.Delta
	dst, ok = j.Copy(dst, v, slot)
	jump := v.Boosted
	if j.k.Edition == Edition415 {
		jump = j.jumpBack(at, j.insnAt(at)).Kind == None
	}
	switch {
	case !ok:
		return dst, false
	case jump:
		back, ok := x86.JumpRel32(slot+arch.Addr(v.Len), j.f.Addr+arch.Addr(at+v.Len))
		return append(dst, back[:]...), ok
	case j.k.Edition >= Edition514:
		dst = append(dst, x86.Int3)
	}
	return dst, true
}

// Detour appends to dst the instructions of v's region as they are in a detour at
// address to. not ok: a RIP-relative operand is out of reach, and the probe isn't
// optimized.
func (j *Judge) Detour(dst []byte, v *Verdict, to arch.Addr) (copied []byte, ok bool) {
	at := v.Offset + v.Delta
	for n := 0; n < v.Region; {
		in, place := *j.insnAt(at + n), to+arch.Addr(n)
		if j.k.Unchecked&CheckPlace != 0 {
			place = to
		}
		if dst, ok = j.move(dst, at+n, in, place); !ok {
			return dst, false
		}
		n += int(in.length)
	}
	return dst, true
}

// move appends the instruction at an offset as it must be to run at address to: a
// RIP-relative operand keeps its target. The kernel also adjusts operands with a 67
// prefix, although they are cut to 32 bits.
func (j *Judge) move(dst []byte, at int, in insn, to arch.Addr) ([]byte, bool) {
	var w window
	copy(w[:maxLen], j.f.Code[min(at, len(j.f.Code)):])
	if in.disp != 0 {
		d := w[in.disp : in.disp+4]
		moved := int64(int32(binary.LittleEndian.Uint32(d))) + int64(j.f.Addr+arch.Addr(at)-to)
		if moved < math.MinInt32 || moved > math.MaxInt32 {
			return dst, false
		}
		binary.LittleEndian.PutUint32(d, uint32(moved))
	}
	return append(dst, w[:in.length]...), true
}
