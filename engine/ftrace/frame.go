package ftrace

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Frame is the words that a trampoline's text has on the stack, as a routine finds them that the text has called.
type Frame struct {
	Arch *arch.Arch  // owned by the routine
	Mem  arch.Memory // owned by the routine
	SP   arch.Addr   // owned by the routine: where the return address into the text is
	At   arch.Addr   // owned by the routine: the frame
	Back arch.Addr   // owned by the routine: the return address
}

// FrameRegs is how many words of a frame the registers and flags take.
const FrameRegs = 17

// FrameOf returns the frame of the text that has called a routine with these registers.
func FrameOf(x kapi.Context, a *arch.Arch, regs *arch.Regs) Frame {
	f := Frame{Arch: a, Mem: x.Memory(), SP: a.StackPointer(regs)}
	f.At = f.SP + arch.Addr(a.Word)
	back, _ := f.Mem.Load(f.SP, a.Word)
	f.Back = arch.Addr(back)
	return f
}

// Word returns the address of a word, Load its value, and Store changes it.
func (f *Frame) Word(n int) arch.Addr { return f.At + arch.Addr(n*f.Arch.Word) }

// Load is said at Word.
func (f *Frame) Load(n int) uint64 {
	v, _ := f.Mem.Load(f.Word(n), f.Arch.Word)
	return v
}

// Store is said at Word.
func (f *Frame) Store(n int, v uint64) { f.Mem.Store(f.Word(n), f.Arch.Word, v) }

// Keep stores registers and flags in the words from n on.
func (f *Frame) Keep(n int, regs *arch.Regs) {
	for i, v := range regs.R[:FrameRegs-1] {
		f.Store(n+i, v)
	}
	f.Store(n+FrameRegs-1, regs.Flags)
}

// Registers loads the registers and flags from the words from n on.
func (f *Frame) Registers(n int, regs *arch.Regs) {
	for i := range regs.R[:FrameRegs-1] {
		regs.R[i] = f.Load(n + i)
	}
	regs.Flags = f.Load(n + FrameRegs - 1)
}

// Leave loads the registers from the words from n on, and returns to an address with the stack pointer at sp.
func (f *Frame) Leave(n int, regs *arch.Regs, to, sp arch.Addr) {
	irqs := regs.Flags & arch.IRQ
	f.Registers(n, regs)
	regs.Flags = regs.Flags&^arch.IRQ | irqs
	sp -= arch.Addr(f.Arch.Word)
	f.Mem.Store(sp, f.Arch.Word, uint64(to))
	regs.R[f.Arch.SP] = uint64(sp)
}
