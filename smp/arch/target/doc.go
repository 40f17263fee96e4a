// Package target names the processors that simulated kernels are built for: the rows of
// smp/arch that the kernel, its engines, scenarios and pages stand on.
//
// What it is not: it is not the processor of a machine, which is smp.Machine.Arch.
//
// Its rule: who needs a breakpoint's bytes, a nop or a jump asks Arch, who needs an
// instruction decoded asks Decode, and who needs what differs between the rows (arguments,
// the names of registers, the trap frame, the size of a word) asks the machine's own. Only
// what is about x86 itself imports smp/arch/x86.
//
// Its limits: two rows, x86-64 and i386, which share their branches and breakpoints.
package target
