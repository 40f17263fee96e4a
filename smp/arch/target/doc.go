// Package target names the processor that the simulated kernel is built for: the row
// of smp/arch that the kernel, its engines, scenarios and pages stand on.
//
// What it is not: it is no choice made at run time. A second kernel, for another
// processor, would make it a field of the scenario's machine.
//
// Its rule: who needs a breakpoint's bytes, a nop or a jump asks this row. Only what is
// about x86 itself imports smp/arch/x86.
//
// Its limits: one row, x86-64.
package target
