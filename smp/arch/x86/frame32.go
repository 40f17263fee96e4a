package x86

import "kpsim/smp/arch"

// Selectors of the 32-bit kernel (arch/x86/include/asm/segment.h).
const (
	kernelCS32 = 0x60
	kernelDS32 = 0x68
	userDS32   = 0x7b // of ds and es in the kernel too
)

// frame32 is the frame of a trap in 32-bit mode.
var frame32 = arch.Frame{
	Size: ptRegs32Size,
	At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - ptRegs32Size },
	Load: loadFrame32, Store: storeFrame32,
}

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
var ptRegs32Order = [7]arch.Reg{RBX, RCX, RDX, RSI, RDI, RBP, RAX}

// storeFrame32 writes a register image of 32 bits.
func storeFrame32(m arch.Memory, base arch.Addr, r *arch.Regs) bool {
	frame := [15]uint64{
		7: userDS32, 8: userDS32, 11: 0xffff_ffff,
		12: uint64(r.IP), 13: kernelCS32, 14: r.Flags,
	}
	for i, reg := range ptRegs32Order {
		frame[i] = r.R[reg]
	}
	for i, v := range frame {
		if !m.Store(base+arch.Addr(4*i), 4, v) {
			return false
		}
	}
	return true
}

// loadFrame32 reads a register image of 32 bits.
func loadFrame32(m arch.Memory, base arch.Addr, r *arch.Regs) bool {
	var frame [15]uint64
	for i := range frame {
		v, ok := m.Load(base+arch.Addr(4*i), 4)
		if !ok {
			return false
		}
		frame[i] = v
	}
	for i, reg := range ptRegs32Order {
		r.R[reg] = frame[i]
	}
	r.IP, r.Flags = arch.Addr(frame[12]), frame[14]
	r.R[RSP] = uint64(base) + ptRegs32Size
	return true
}
