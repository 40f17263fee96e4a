package kapi

import "kpsim/smp/isa"

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
var PtRegOrder = [15]isa.Reg{
	isa.R15, isa.R14, isa.R13, isa.R12, isa.RBP, isa.RBX, isa.R11, isa.R10,
	isa.R9, isa.R8, isa.RAX, isa.RCX, isa.RDX, isa.RSI, isa.RDI,
}

// LoadPtRegs reads a register image. ok false: part of it is not mapped.
func LoadPtRegs(m isa.Memory, at isa.Addr, r *isa.Regs) (ok bool) {
	for i, reg := range PtRegOrder {
		if r.R[reg], ok = m.Load(at+isa.Addr(8*i), 8); !ok {
			return false
		}
	}
	ip, ok1 := m.Load(at+PtIP, 8)
	fl, ok2 := m.Load(at+PtFlags, 8)
	sp, ok3 := m.Load(at+PtSP, 8)
	r.IP, r.Flags, r.R[isa.RSP] = isa.Addr(ip), fl, sp
	return ok1 && ok2 && ok3
}

// StorePtRegs writes a register image. ok false: part of it can't be written.
func StorePtRegs(m isa.Memory, at isa.Addr, r *isa.Regs) (ok bool) {
	for i, reg := range PtRegOrder {
		if !m.Store(at+isa.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+PtOrigAX, 8, ^uint64(0)) &&
		m.Store(at+PtIP, 8, uint64(r.IP)) &&
		m.Store(at+PtCS, 8, KernelCS) &&
		m.Store(at+PtFlags, 8, r.Flags) &&
		m.Store(at+PtSP, 8, r.R[isa.RSP]) &&
		m.Store(at+PtSS, 8, KernelDS)
}

// StorePtGeneral writes the general registers but rsp, and the flags, into a
// register image that has no place for ss: a detour's.
func StorePtGeneral(m isa.Memory, at isa.Addr, r *isa.Regs) (ok bool) {
	for i, reg := range PtRegOrder {
		if !m.Store(at+isa.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+PtFlags, 8, r.Flags)
}
