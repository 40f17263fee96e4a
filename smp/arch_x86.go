package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// This file holds the x86 types and constants that are needed at each instruction or
// boundary. Everything else goes through arch.Arch. A machine of another processor has a
// file like this one instead.

type (
	inst   = x86.Inst   // a decoded instruction
	system = x86.System // the state of a CPU that a trap doesn't save
)

const (
	irqFlag  = x86.IF // of Regs.Flags: interrupts are taken
	stepFlag = x86.TF // a debug trap follows the instruction
	regSP    = x86.RSP
	chunk    = x86.PatchUnit // the aligned bytes of text that a fetch reads at once, and a store changes at once
	maxLen   = x86.MaxLen    // the most bytes an instruction has
	int3     = x86.Int3      // the byte that fills memory for code

	// trapClears are the flags that are cleared on the way to a handler.
	trapClears = x86.TrapClears

	bits32 = 4 // Arch.Word of a machine of 32 bits
)

// spOf returns the stack pointer.
func spOf(r *arch.Regs) arch.Addr { return x86.SP(r) }

// stacksOf returns where stacks begin on a machine of the processor.
func stacksOf(a *arch.Arch) arch.Addr {
	if a.Word == bits32 {
		return stackBase32
	}
	return stackBase
}

// bootSystem returns the system state that the kernel gives a CPU at boot.
func (ps *Processors) bootSystem(cpu uint32) system {
	y := x86.BootSystem(ps.m.arch, cpu)
	if ps.m.arch.Word == bits32 {
		y.FSBase = uint64(ps.bases[cpu])
	} else {
		y.GSBase = uint64(ps.bases[cpu])
	}
	return y
}

// bases holds the segment bases that a 64-bit kernel keeps per task because user mode uses
// them: fs, and gs after swapgs. The kernel's own gs base belongs to the CPU, as does the
// fs base of a 32-bit kernel (arch/x86/kernel/process_64.c, __switch_to).
type bases struct{ fs, gs uint64 }

// switchBases gives a CPU the bases of the next task.
func (ps *Processors) switchBases(c *CPU, prev, next *Task) {
	if ps.m.arch.Word == bits32 {
		return
	}
	prev.bases = bases{c.sys.FSBase, c.sys.KernelGSBase}
	c.sys.FSBase, c.sys.KernelGSBase = next.bases.fs, next.bases.gs
}

// addSystem adds the system state of a CPU to a hash.
func addSystem(h *sim.Hash, y *system) {
	for _, v := range [...]uint64{
		y.FSBase, y.GSBase, y.KernelGSBase, y.CR0, y.CR2, y.CR3, y.CR8, y.CR4, y.XCR0, y.GDT.Base, y.IDT.Base,
		y.TSCOffset,
		uint64(y.GDT.Limit) | uint64(y.IDT.Limit)<<16 | uint64(y.LDT)<<32 | uint64(y.TR)<<48, uint64(y.TSCAux),
	} {
		h.Add(v)
	}
	for _, v := range y.DR {
		h.Add(v)
	}
	for _, v := range y.Seg {
		h.Add(uint64(v))
	}
}

// stackBase32 is where stacks begin on a machine in 32-bit mode: text is decoded as
// protected-mode code in flat segments there, and addresses and the words of the stack
// have four bytes. All else lies where arch.Arch.Addr says.
const stackBase32 arch.Addr = 0xc9000000
