package riscv64

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// PtRegsSize is the size in bytes of a register image in memory (struct pt_regs of riscv:
// arch/riscv/include/asm/ptrace.h): epc, x1 to x31, status, badaddr, cause, orig_a0.
const PtRegsSize = 36 * 8

// Offsets in a register image. Register x1 to x31 stands at 8 times its number.
const (
	PtEPC     = 0
	PtStatus  = 32 * 8
	PtBadAddr = 33 * 8
	PtCause   = 34 * 8
	PtOrigA0  = 35 * 8
)

// frame is that of a trap that a kernel's code takes, userFrame that of user mode. They differ in
// SPP, which says where sret returns to.
var (
	frame     = frameOf(statusSPP)
	userFrame = frameOf(0)
)

// frameOf is a frame with the given SPP. The entry code subtracts the size from the stack pointer,
// which is aligned to 16 bytes (handle_exception in arch/riscv/kernel/entry.S). There is no gap
// for a handler that pushes: a call is emulated in ra.
func frameOf(spp uint64) arch.Frame {
	put := func(b []byte, r *arch.Regs) { putPtRegs((*[PtRegsSize]byte)(b), r, spp) }
	return arch.Frame{
		Size:  PtRegsSize,
		At:    func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - PtRegsSize },
		Load:  LoadPtRegs,
		Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool { return storePtRegs(m, at, r, spp) },
		Get:   func(b []byte, r *arch.Regs) { getPtRegs((*[PtRegsSize]byte)(b), r) },
		Put:   put,
	}
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
	var b [PtRegsSize]byte
	for i := 0; i < PtBadAddr; i += 8 {
		v, ok := m.Load(at+arch.Addr(i), 8)
		if !ok {
			return false
		}
		binary.LittleEndian.PutUint64(b[i:], v)
	}
	getPtRegs(&b, r)
	return true
}

// storePtRegs writes a register image. ok false: part of it can't be written.
func storePtRegs(m arch.Memory, at arch.Addr, r *arch.Regs, spp uint64) (ok bool) {
	if b := image(m, at, true); b != nil {
		putPtRegs(b, r, spp)
		return true
	}
	var b [PtRegsSize]byte
	putPtRegs(&b, r, spp)
	for i := 0; i < PtRegsSize; i += 8 {
		if !m.Store(at+arch.Addr(i), 8, binary.LittleEndian.Uint64(b[i:])) {
			return false
		}
	}
	return true
}

// putPtRegs writes a register image. status is as the trap leaves it: interrupts are off, SPIE has
// whether they were on. badaddr, cause and orig_a0 are zero: what serves the trap writes them.
func putPtRegs(b *[PtRegsSize]byte, r *arch.Regs, spp uint64) {
	binary.LittleEndian.PutUint64(b[PtEPC:], uint64(r.IP))
	for i := 1; i < 32; i++ {
		binary.LittleEndian.PutUint64(b[8*i:], r.R[i])
	}
	status := taskStatus(r.Flags) | spp
	if r.Flags&arch.IRQ != 0 {
		status |= statusSPIE
	}
	binary.LittleEndian.PutUint64(b[PtStatus:], status)
	clear(b[PtBadAddr:])
}

// getPtRegs reads a register image. Interrupts are on as SPIE says, which is what sret does.
func getPtRegs(b *[PtRegsSize]byte, r *arch.Regs) {
	r.IP = arch.Addr(binary.LittleEndian.Uint64(b[PtEPC:]))
	r.R[0] = 0
	for i := 1; i < 32; i++ {
		r.R[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	status := binary.LittleEndian.Uint64(b[PtStatus:])
	r.Flags = taskFlags(status)
	if status&statusSPIE != 0 {
		r.Flags |= arch.IRQ
	}
}

// LoadGeneral reads x1 to x31 of a register image. ok false: part of it is not mapped.
func LoadGeneral(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i := 1; i < 32; i++ {
		if r.R[i], ok = m.Load(at+arch.Addr(8*i), 8); !ok {
			return false
		}
	}
	return true
}

// StoreGeneral writes x1 to x31 to a register image.
func StoreGeneral(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	for i := 1; i < 32; i++ {
		if !m.Store(at+arch.Addr(8*i), 8, r.R[i]) {
			return false
		}
	}
	return true
}
