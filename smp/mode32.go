package smp

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A machine in 32-bit mode: text is decoded as protected-mode code in flat
// segments, addresses and the words of the stack have four bytes, and a trap
// pushes three words. The kernel beside it (package kernel) is that of 64 bits.

// Where things lie in 32-bit mode: above 3 GiB, as the kernel has it.
const (
	TextBase32  arch.Addr = 0xc1000000
	GateBase32  arch.Addr = 0xc2000000
	DataBase32  arch.Addr = 0xc3000000
	StackBase32 arch.Addr = 0xc9000000
)

// Selectors of the 32-bit kernel (arch/x86/include/asm/segment.h).
const (
	kernelCS32 = 0x60
	kernelDS32 = 0x68
	userDS32   = 0x7b // of ds and es in the kernel too
)

// A trap frame in 32-bit mode, from high to low addresses. Within one privilege
// level the processor pushes neither ss nor sp, and aligns nothing (SDM vol. 3,
// "Exception- or Interrupt-Handler Procedures"): the stack pointer of what was
// interrupted is where the frame ends, and a handler can't change it.
//
//	flags  cs  ip                  pushed by the processor
//	orig_ax                        an error code's place
//	gs  fs  es  ds                 saved by the entry code
//	ax  bp  di  si  dx  cx  bx     (struct pt_regs: arch/x86/include/asm/ptrace.h)
//	SP of the handler
const ptRegs32Size = 15 * 4

// ptRegs32Order are the general registers of a frame, from low to high addresses.
var ptRegs32Order = [7]x86.Reg{x86.RBX, x86.RCX, x86.RDX, x86.RSI, x86.RDI, x86.RBP, x86.RAX}

// storeFrame32 writes a register image of 32 bits.
func (m *Machine) storeFrame32(base arch.Addr, r *arch.Regs) bool {
	frame := [15]uint64{
		7: userDS32, 8: userDS32, 11: 0xffff_ffff,
		12: uint64(r.IP), 13: kernelCS32, 14: r.Flags,
	}
	for i, reg := range ptRegs32Order {
		frame[i] = r.R[reg]
	}
	for i, v := range frame {
		if !m.data.Store(base+arch.Addr(4*i), 4, v) {
			return false
		}
	}
	return true
}

// loadFrame32 reads a register image of 32 bits.
func (m *Machine) loadFrame32(base arch.Addr, r *arch.Regs) bool {
	var frame [15]uint64
	for i := range frame {
		v, ok := m.data.Load(base+arch.Addr(4*i), 4)
		if !ok {
			return false
		}
		frame[i] = v
	}
	for i, reg := range ptRegs32Order {
		r.R[reg] = frame[i]
	}
	r.IP, r.Flags = arch.Addr(frame[12]), frame[14]
	r.R[x86.RSP] = uint64(base) + ptRegs32Size
	return true
}

// bootSystem is the state that the kernel has given a CPU at boot.
func (m *Machine) bootSystem(cpu uint32) x86.System {
	if m.cfg.Mode != x86.Mode32 {
		return x86.NewSystem(cpu, kapi.KernelCS, kapi.KernelDS)
	}
	y := x86.NewSystem(cpu, kernelCS32, kernelDS32)
	y.Seg[x86.DS], y.Seg[x86.ES] = userDS32, userDS32
	return y
}
