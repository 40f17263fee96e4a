package kapi

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// PtRegsSize is the size in bytes of a register image in memory (pt_regs of
// 64-bit x86): r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi,
// orig_ax, then what the processor pushes: ip cs flags sp ss.
const PtRegsSize = 21 * 8

// Offsets in a register image.
const (
	PtOrigAX = 15 * 8
	PtIP     = 16 * 8
	PtCS     = 17 * 8
	PtFlags  = 18 * 8
	PtSP     = 19 * 8
	PtSS     = 20 * 8
)

// Kernel selectors, as Linux has them.
const (
	KernelCS = 0x10
	KernelDS = 0x18
)

// PtRegOrder is the order of the general registers in a register image.
var PtRegOrder = [15]x86.Reg{
	x86.R15, x86.R14, x86.R13, x86.R12, x86.RBP, x86.RBX, x86.R11, x86.R10,
	x86.R9, x86.R8, x86.RAX, x86.RCX, x86.RDX, x86.RSI, x86.RDI,
}

// An Imager is Memory that has a register image at hand.
type Imager interface {
	// Image returns the bytes of the image at an address, to be read or, with store,
	// written; nil if it doesn't lie in one page that it may be accessed in so.
	Image(at arch.Addr, store bool) *[PtRegsSize]byte
}

// image returns the image at an address if m has it at hand.
func image(m x86.Memory, at arch.Addr, store bool) *[PtRegsSize]byte {
	if i, ok := m.(Imager); ok {
		return i.Image(at, store)
	}
	return nil
}

// LoadPtRegs reads a register image. ok false: part of it is not mapped.
func LoadPtRegs(m x86.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if b := image(m, at, false); b != nil {
		GetPtRegs(b, r)
		return true
	}
	for i, reg := range PtRegOrder {
		if r.R[reg], ok = m.Load(at+arch.Addr(8*i), 8); !ok {
			return false
		}
	}
	ip, ok1 := m.Load(at+PtIP, 8)
	fl, ok2 := m.Load(at+PtFlags, 8)
	sp, ok3 := m.Load(at+PtSP, 8)
	r.IP, r.Flags, r.R[x86.RSP] = arch.Addr(ip), fl, sp
	return ok1 && ok2 && ok3
}

// StorePtRegs writes a register image. ok false: part of it can't be written.
func StorePtRegs(m x86.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i, reg := range PtRegOrder {
		if !m.Store(at+arch.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+PtOrigAX, 8, ^uint64(0)) &&
		m.Store(at+PtIP, 8, uint64(r.IP)) &&
		m.Store(at+PtCS, 8, KernelCS) &&
		m.Store(at+PtFlags, 8, r.Flags) &&
		m.Store(at+PtSP, 8, r.R[x86.RSP]) &&
		m.Store(at+PtSS, 8, KernelDS)
}

// StorePtGeneral writes the general registers but rsp, and the flags, into a
// register image that has no place for ss: a detour's.
func StorePtGeneral(m x86.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if b := image(m, at, true); b != nil {
		putGeneral(b, r)
		binary.LittleEndian.PutUint64(b[PtFlags:], r.Flags)
		return true
	}
	for i, reg := range PtRegOrder {
		if !m.Store(at+arch.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+PtFlags, 8, r.Flags)
}

// PutPtRegs is StorePtRegs to memory that is at hand.
func PutPtRegs(b *[PtRegsSize]byte, r *arch.Regs) {
	putGeneral(b, r)
	binary.LittleEndian.PutUint64(b[PtOrigAX:], ^uint64(0))
	binary.LittleEndian.PutUint64(b[PtIP:], uint64(r.IP))
	binary.LittleEndian.PutUint64(b[PtCS:], KernelCS)
	binary.LittleEndian.PutUint64(b[PtFlags:], r.Flags)
	binary.LittleEndian.PutUint64(b[PtSP:], r.R[x86.RSP])
	binary.LittleEndian.PutUint64(b[PtSS:], KernelDS)
}

// putGeneral writes the general registers but rsp. Register by register: it is done
// twice a trap, and a loop over PtRegOrder takes five times as long.
func putGeneral(b *[PtRegsSize]byte, r *arch.Regs) {
	binary.LittleEndian.PutUint64(b[0:], r.R[x86.R15])
	binary.LittleEndian.PutUint64(b[8:], r.R[x86.R14])
	binary.LittleEndian.PutUint64(b[16:], r.R[x86.R13])
	binary.LittleEndian.PutUint64(b[24:], r.R[x86.R12])
	binary.LittleEndian.PutUint64(b[32:], r.R[x86.RBP])
	binary.LittleEndian.PutUint64(b[40:], r.R[x86.RBX])
	binary.LittleEndian.PutUint64(b[48:], r.R[x86.R11])
	binary.LittleEndian.PutUint64(b[56:], r.R[x86.R10])
	binary.LittleEndian.PutUint64(b[64:], r.R[x86.R9])
	binary.LittleEndian.PutUint64(b[72:], r.R[x86.R8])
	binary.LittleEndian.PutUint64(b[80:], r.R[x86.RAX])
	binary.LittleEndian.PutUint64(b[88:], r.R[x86.RCX])
	binary.LittleEndian.PutUint64(b[96:], r.R[x86.RDX])
	binary.LittleEndian.PutUint64(b[104:], r.R[x86.RSI])
	binary.LittleEndian.PutUint64(b[112:], r.R[x86.RDI])
}

// GetPtRegs is LoadPtRegs from memory that is at hand.
func GetPtRegs(b *[PtRegsSize]byte, r *arch.Regs) {
	r.R[x86.R15] = binary.LittleEndian.Uint64(b[0:])
	r.R[x86.R14] = binary.LittleEndian.Uint64(b[8:])
	r.R[x86.R13] = binary.LittleEndian.Uint64(b[16:])
	r.R[x86.R12] = binary.LittleEndian.Uint64(b[24:])
	r.R[x86.RBP] = binary.LittleEndian.Uint64(b[32:])
	r.R[x86.RBX] = binary.LittleEndian.Uint64(b[40:])
	r.R[x86.R11] = binary.LittleEndian.Uint64(b[48:])
	r.R[x86.R10] = binary.LittleEndian.Uint64(b[56:])
	r.R[x86.R9] = binary.LittleEndian.Uint64(b[64:])
	r.R[x86.R8] = binary.LittleEndian.Uint64(b[72:])
	r.R[x86.RAX] = binary.LittleEndian.Uint64(b[80:])
	r.R[x86.RCX] = binary.LittleEndian.Uint64(b[88:])
	r.R[x86.RDX] = binary.LittleEndian.Uint64(b[96:])
	r.R[x86.RSI] = binary.LittleEndian.Uint64(b[104:])
	r.R[x86.RDI] = binary.LittleEndian.Uint64(b[112:])
	r.IP = arch.Addr(binary.LittleEndian.Uint64(b[PtIP:]))
	r.Flags = binary.LittleEndian.Uint64(b[PtFlags:])
	r.R[x86.RSP] = binary.LittleEndian.Uint64(b[PtSP:])
}
