// Package target names the processors that simulated kernels are built for: the rows of smp/arch
// that the kernel, its engines, scenarios and pages stand on.
//
// What it is not: the processor of a machine, which is smp.Machine.Arch.
//
// Its rule: the bytes of a breakpoint, a nop or a jump come from Arch; decoding comes from
// Decode; what differs between the rows (arguments, the names of registers, the trap frame, the
// size of a word) comes from the machine's own processor. Only code about x86 itself imports
// smp/arch/x86.
//
// Its limits: two rows, x86-64 and i386, which share their branches and breakpoints.
package target
