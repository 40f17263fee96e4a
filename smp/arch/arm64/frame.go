package arm64

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// A trap frame, from low to high addresses (struct pt_regs: arch/arm64/include/asm/ptrace.h, 6.12).
// Entry code saves all of it: the processor itself pushes nothing.
//
//	regs[31] sp pc pstate          struct user_pt_regs
//	orig_x0 syscallno sdei_ttbr1 pmr_save
//	stackframe[2]                  a record of the chain of frame pointers: x29 and pc
//	lockdep_hardirqs exit_rcu
//
// PtRegsSize is its size in bytes.
const PtRegsSize = 0x150

// Offsets in a frame.
const (
	PtSP         = 31 * 8
	PtPC         = 32 * 8
	PtPState     = 33 * 8
	ptOrigX0     = 34 * 8
	ptSyscall    = 35 * 8
	PtStackFrame = 38 * 8
)

// noSyscall is syscallno of what isn't a system call.
const noSyscall = 0xffff_ffff

// A mode is the exception level and stack pointer that a trap comes from, as PSTATE.M has it.
type mode uint64

var (
	frame     = mode(modeEL1h).frame()
	frameUser = mode(modeEL0t).frame()
)

// frame returns the frame of a trap from a mode.
func (e mode) frame() arch.Frame {
	return arch.Frame{
		Size: PtRegsSize,
		At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - PtRegsSize },
		Load: loadFrame, Store: e.storeFrame,
		Get: getFrame, Put: e.putFrame,
	}
}

// pstate returns the PSTATE that the frame has.
func (e mode) pstate(flags uint64) uint64 { return PState(flags)&^modeEL1h | uint64(e) }

// record returns the record of the chain of frame pointers. The chain ends at a trap from user mode,
// whose record is zero.
func (e mode) record(r *arch.Regs) (fp, pc uint64) {
	if e == mode(modeEL0t) {
		return 0, 0
	}
	return r.R[FP], uint64(r.IP)
}

func loadFrame(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i := range r.R[:ZR] {
		if r.R[i], ok = m.Load(at+arch.Addr(8*i), 8); !ok {
			return false
		}
	}
	pc, ok1 := m.Load(at+PtPC, 8)
	p, ok2 := m.Load(at+PtPState, 8)
	r.IP, r.Flags = arch.Addr(pc), FlagsOf(p)
	return ok1 && ok2
}

func (e mode) storeFrame(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
	for i, v := range r.R[:ZR] {
		if !m.Store(at+arch.Addr(8*i), 8, v) {
			return false
		}
	}
	fp, pc := e.record(r)
	return m.Store(at+PtPC, 8, uint64(r.IP)) && m.Store(at+PtPState, 8, e.pstate(r.Flags)) &&
		m.Store(at+ptOrigX0, 8, r.R[0]) && m.Store(at+ptSyscall, 4, noSyscall) &&
		m.Store(at+PtStackFrame, 8, fp) && m.Store(at+PtStackFrame+8, 8, pc)
}

func getFrame(b []byte, r *arch.Regs) {
	_ = b[PtRegsSize-1]
	for i := range r.R[:ZR] {
		r.R[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	r.IP = arch.Addr(binary.LittleEndian.Uint64(b[PtPC:]))
	r.Flags = FlagsOf(binary.LittleEndian.Uint64(b[PtPState:]))
}

func (e mode) putFrame(b []byte, r *arch.Regs) {
	_ = b[PtRegsSize-1]
	for i, v := range r.R[:ZR] {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint64(b[PtPC:], uint64(r.IP))
	binary.LittleEndian.PutUint64(b[PtPState:], e.pstate(r.Flags))
	binary.LittleEndian.PutUint64(b[ptOrigX0:], r.R[0])
	binary.LittleEndian.PutUint32(b[ptSyscall:], noSyscall)
	fp, pc := e.record(r)
	binary.LittleEndian.PutUint64(b[PtStackFrame:], fp)
	binary.LittleEndian.PutUint64(b[PtStackFrame+8:], pc)
}

// LoadGeneral reads x0 to x30 of a register image. ok false: part of it is not mapped.
func LoadGeneral(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i := range r.R[:SP] {
		if r.R[i], ok = m.Load(at+arch.Addr(8*i), 8); !ok {
			return false
		}
	}
	return true
}

// StoreGeneral writes x0 to x30 to a register image.
func StoreGeneral(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i, v := range r.R[:SP] {
		if !m.Store(at+arch.Addr(8*i), 8, v) {
			return false
		}
	}
	return true
}
