package x86

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// PtRegsSize is the size in bytes of a register image in memory (pt_regs of
// 64-bit x86): r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi,
// orig_ax, then what the processor pushes: ip cs flags sp ss.
const PtRegsSize = 21 * 8

// Offsets in a register image.
const (
	ptOrigAX = 15 * 8
	ptIP     = 16 * 8
	PtCS     = 17 * 8
	ptFlags  = 18 * 8
	PtSP     = 19 * 8
	PtSS     = 20 * 8
)

// Selectors of the 64-bit kernel (arch/x86/include/asm/segment.h).
const (
	KernelCS = 0x10
	KernelDS = 0x18
	UserCS   = 0x33
	UserDS   = 0x2b
)

// ptRegOrder is the order of the general registers in a register image.
var ptRegOrder = [15]arch.Reg{
	R15, R14, R13, R12, RBP, RBX, R11, R10,
	R9, R8, RAX, RCX, RDX, RSI, RDI,
}

// frame64 is the frame of a trap in 64-bit mode.
var frame64 = arch.Frame{
	Size: PtRegsSize,
	At:   frameAt64,
	Load: LoadPtRegs, Store: storePtRegs,
	Get: func(b []byte, r *arch.Regs) { getPtRegs((*[PtRegsSize]byte)(b), r) },
	Put: func(b []byte, r *arch.Regs) { putPtRegs((*[PtRegsSize]byte)(b), r) },
}

// frameUser64 is the frame of a trap that user mode takes: int3's entry leaves no gap then.
var frameUser64 = arch.Frame{
	Size: PtRegsSize,
	At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp&^15) - PtRegsSize },
	Load: LoadPtRegs,
	Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		return storePtRegs(m, at, r) && m.Store(at+PtCS, 8, UserCS) && m.Store(at+PtSS, 8, UserDS)
	},
}

// int3Gap is what Linux's int3 entry leaves between the stack of what was interrupted
// and the frame, so that the handler can emulate a call.
const int3Gap = 48

// frameAt64 is Frame.At: the processor pushes at a 16-byte boundary.
func frameAt64(sp uint64, breakpoint bool) arch.Addr {
	if breakpoint {
		sp -= int3Gap
	}
	return arch.Addr(sp&^15) - PtRegsSize
}

// image returns the bytes of the frame at an address if m has them at hand.
func image(m arch.Memory, at arch.Addr, store bool) *[PtRegsSize]byte {
	if i, ok := m.(arch.Imager); ok {
		if b := i.Image(at, PtRegsSize, store); b != nil {
			return (*[PtRegsSize]byte)(b)
		}
	}
	return nil
}

// LoadPtRegs reads a register image. ok false: part of it is not mapped.
func LoadPtRegs(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if b := image(m, at, false); b != nil {
		getPtRegs(b, r)
		return true
	}
	for i, reg := range ptRegOrder {
		if r.R[reg], ok = m.Load(at+arch.Addr(8*i), 8); !ok {
			return false
		}
	}
	ip, ok1 := m.Load(at+ptIP, 8)
	fl, ok2 := m.Load(at+ptFlags, 8)
	sp, ok3 := m.Load(at+PtSP, 8)
	r.IP, r.Flags, r.R[RSP] = arch.Addr(ip), fl, sp
	return ok1 && ok2 && ok3
}

// storePtRegs writes a register image. ok false: part of it can't be written.
func storePtRegs(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i, reg := range ptRegOrder {
		if !m.Store(at+arch.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+ptOrigAX, 8, ^uint64(0)) &&
		m.Store(at+ptIP, 8, uint64(r.IP)) &&
		m.Store(at+PtCS, 8, KernelCS) &&
		m.Store(at+ptFlags, 8, r.Flags) &&
		m.Store(at+PtSP, 8, r.R[RSP]) &&
		m.Store(at+PtSS, 8, KernelDS)
}

// StorePtGeneral writes the general registers but rsp, and the flags, into a
// register image that has no place for ss: a detour's.
func StorePtGeneral(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if b := image(m, at, true); b != nil {
		putGeneral(b, r)
		binary.LittleEndian.PutUint64(b[ptFlags:], r.Flags)
		return true
	}
	for i, reg := range ptRegOrder {
		if !m.Store(at+arch.Addr(8*i), 8, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+ptFlags, 8, r.Flags)
}

// putPtRegs is storePtRegs to memory that is at hand.
func putPtRegs(b *[PtRegsSize]byte, r *arch.Regs) {
	putGeneral(b, r)
	binary.LittleEndian.PutUint64(b[ptOrigAX:], ^uint64(0))
	binary.LittleEndian.PutUint64(b[ptIP:], uint64(r.IP))
	binary.LittleEndian.PutUint64(b[PtCS:], KernelCS)
	binary.LittleEndian.PutUint64(b[ptFlags:], r.Flags)
	binary.LittleEndian.PutUint64(b[PtSP:], r.R[RSP])
	binary.LittleEndian.PutUint64(b[PtSS:], KernelDS)
}

// putGeneral writes the general registers but rsp. Register by register: it is done
// twice a trap, and a loop over ptRegOrder takes five times as long.
func putGeneral(b *[PtRegsSize]byte, r *arch.Regs) {
	binary.LittleEndian.PutUint64(b[0:], r.R[R15])
	binary.LittleEndian.PutUint64(b[8:], r.R[R14])
	binary.LittleEndian.PutUint64(b[16:], r.R[R13])
	binary.LittleEndian.PutUint64(b[24:], r.R[R12])
	binary.LittleEndian.PutUint64(b[32:], r.R[RBP])
	binary.LittleEndian.PutUint64(b[40:], r.R[RBX])
	binary.LittleEndian.PutUint64(b[48:], r.R[R11])
	binary.LittleEndian.PutUint64(b[56:], r.R[R10])
	binary.LittleEndian.PutUint64(b[64:], r.R[R9])
	binary.LittleEndian.PutUint64(b[72:], r.R[R8])
	binary.LittleEndian.PutUint64(b[80:], r.R[RAX])
	binary.LittleEndian.PutUint64(b[88:], r.R[RCX])
	binary.LittleEndian.PutUint64(b[96:], r.R[RDX])
	binary.LittleEndian.PutUint64(b[104:], r.R[RSI])
	binary.LittleEndian.PutUint64(b[112:], r.R[RDI])
}

// getPtRegs is LoadPtRegs from memory that is at hand.
func getPtRegs(b *[PtRegsSize]byte, r *arch.Regs) {
	r.R[R15] = binary.LittleEndian.Uint64(b[0:])
	r.R[R14] = binary.LittleEndian.Uint64(b[8:])
	r.R[R13] = binary.LittleEndian.Uint64(b[16:])
	r.R[R12] = binary.LittleEndian.Uint64(b[24:])
	r.R[RBP] = binary.LittleEndian.Uint64(b[32:])
	r.R[RBX] = binary.LittleEndian.Uint64(b[40:])
	r.R[R11] = binary.LittleEndian.Uint64(b[48:])
	r.R[R10] = binary.LittleEndian.Uint64(b[56:])
	r.R[R9] = binary.LittleEndian.Uint64(b[64:])
	r.R[R8] = binary.LittleEndian.Uint64(b[72:])
	r.R[RAX] = binary.LittleEndian.Uint64(b[80:])
	r.R[RCX] = binary.LittleEndian.Uint64(b[88:])
	r.R[RDX] = binary.LittleEndian.Uint64(b[96:])
	r.R[RSI] = binary.LittleEndian.Uint64(b[104:])
	r.R[RDI] = binary.LittleEndian.Uint64(b[112:])
	r.IP = arch.Addr(binary.LittleEndian.Uint64(b[ptIP:]))
	r.Flags = binary.LittleEndian.Uint64(b[ptFlags:])
	r.R[RSP] = binary.LittleEndian.Uint64(b[PtSP:])
}

// Selectors of the 32-bit kernel (arch/x86/include/asm/segment.h).
const (
	KernelCS32 = 0x60
	KernelDS32 = 0x68
	UserCS32   = 0x73
	userDS32   = 0x7b // of ds and es in the kernel too
)

// frame32Short is the frame of a trap in 32-bit mode in kernels until 5.2.
var frame32Short = arch.Frame{
	Size: ptRegs32Short, NoSP: true,
	At: func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - ptRegs32Short },
	Load: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		r.R[RSP] = uint64(at) + ptRegs32Short
		return loadRegs32(m, at, r)
	},
	Store: storeRegs32,
}

// frame32 is that of 5.3 and later (3c88c692c287): below the six words of the first, which
// are left as a gap, so that a handler can emulate a push, the entry code makes it whole.
var frame32 = arch.Frame{
	Size: PtRegs32Size,
	At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - gap32 - PtRegs32Size },
	Load: LoadPtRegs32,
	Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		return storeRegs32(m, at, r) && m.Store(at+PtSP32, 4, r.R[RSP]) && m.Store(at+PtSS32, 4, KernelDS32) &&
			storeGap32(m, at, r)
	},
}

// frameUser32 is the frame of a trap that user mode takes: the processor changes stacks, and
// pushes ss and sp too. There is no gap.
var frameUser32 = arch.Frame{
	Size: PtRegs32Size,
	At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - PtRegs32Size },
	Load: LoadPtRegs32,
	Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		return storeRegs32(m, at, r) && m.Store(at+PtCS32, 4, UserCS32) && m.Store(at+PtSP32, 4, r.R[RSP]) &&
			m.Store(at+PtSS32, 4, userDS32)
	},
}

// storeGap32 writes what the gap holds, unless something was pushed there: the words of which the
// frame is a copy. It leaves out earlier return addresses, which a stack walk would take for
// calls still in progress.
func storeGap32(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
	const end = PtRegs32Size + gap32
	if r.R[RSP] != uint64(at)+end {
		return true
	}
	for i, v := range [gap32 / 4]uint64{2: 0xffff_ffff, 3: uint64(r.IP), 4: KernelCS32, 5: r.Flags} {
		if !m.Store(at+PtRegs32Size+arch.Addr(4*i), 4, v) {
			return false
		}
	}
	return true
}

// A trap frame in 32-bit mode, from high to low addresses. Within one privilege
// level the processor pushes neither ss nor sp, and aligns nothing (SDM vol. 3,
// "Exception- or Interrupt-Handler Procedures"): without those the stack pointer of
// what was interrupted is where the frame ends, and a handler can't change it.
//
//	ss  sp                         the whole frame's, put there by the entry code
//	flags  cs  ip                  pushed by the processor
//	orig_ax                        an error code's place
//	gs  fs  es  ds                 saved by the entry code
//	ax  bp  di  si  dx  cx  bx     (struct pt_regs: arch/x86/include/asm/ptrace.h)
//	SP of the handler
const (
	PtRegs32Size  = 17 * 4
	ptRegs32Short = 15 * 4
	gap32         = 6 * 4
)

// Offsets in a register image of 32 bits.
const (
	ptOrigAX32 = 11 * 4
	ptIP32     = 12 * 4
	PtCS32     = 13 * 4
	PtFlags32  = 14 * 4
	PtSP32     = 15 * 4
	PtSS32     = 16 * 4
)

// ptRegs32Order are the general registers of a frame, from low to high addresses.
var ptRegs32Order = [7]arch.Reg{RBX, RCX, RDX, RSI, RDI, RBP, RAX}

// storeRegs32 writes a register image of 32 bits, up to the flags.
func storeRegs32(m arch.Memory, base arch.Addr, r *arch.Regs) bool {
	image := [ptRegs32Short / 4]uint64{
		7: userDS32, 8: userDS32, ptOrigAX32 / 4: 0xffff_ffff,
		ptIP32 / 4: uint64(r.IP), PtCS32 / 4: KernelCS32, PtFlags32 / 4: r.Flags,
	}
	for i, reg := range ptRegs32Order {
		image[i] = r.R[reg]
	}
	for i, v := range image {
		if !m.Store(base+arch.Addr(4*i), 4, v) {
			return false
		}
	}
	return true
}

// loadRegs32 reads a register image of 32 bits, up to the flags.
func loadRegs32(m arch.Memory, base arch.Addr, r *arch.Regs) bool {
	var image [ptRegs32Short / 4]uint64
	for i := range image {
		v, ok := m.Load(base+arch.Addr(4*i), 4)
		if !ok {
			return false
		}
		image[i] = v
	}
	for i, reg := range ptRegs32Order {
		r.R[reg] = image[i]
	}
	r.IP, r.Flags = arch.Addr(image[ptIP32/4]), image[PtFlags32/4]
	return true
}

// LoadPtRegs32 reads a whole register image of 32 bits. ok false: part of it is not
// mapped.
func LoadPtRegs32(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if !loadRegs32(m, at, r) {
		return false
	}
	r.R[RSP], ok = m.Load(at+PtSP32, 4)
	return ok
}

// StorePtGeneral32 writes the general registers but esp, and the flags, into a register
// image of 32 bits.
func StorePtGeneral32(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i, reg := range ptRegs32Order {
		if !m.Store(at+arch.Addr(4*i), 4, r.R[reg]) {
			return false
		}
	}
	return m.Store(at+PtFlags32, 4, r.Flags)
}
