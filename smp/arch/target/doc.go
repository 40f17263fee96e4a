// Package target names the processors that simulated kernels are built for: the rows of smp/arch,
// and what a kernel has on each.
//
// What it is not: the processor of a machine, which is smp.Machine.Arch and comes from the scenario.
//
// Its rule: a processor is one row. Code asks a row what is so (Serves, Bits32), and never which
// processor it is.
//
// Its limits: what a kernel does by itself (Service) is built for x86. Jump labels, kprobes and ftrace's sites are
// built for riscv64, arm64 and ppc64le, too.
package target
