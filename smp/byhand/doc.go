// Package byhand has the steps of a patcher that a scenario describes, as a JIT, a hook or an instrumentation tool has
// one: stores of chosen bytes, breakpoints of its own, memory for code, waits, stopped CPUs. Package act has an
// operation for each.
//
// A patcher that is compiled code stores by an alias (smp.Memory.Alias), and calls routines of the kernel by name
// (kernel.Services); mprotect is the step Protect.
//
// What it is not: a patcher. The scenario gives the order of the steps, and a search finds out whether that order is
// right. The kernel's own patchers are in smp/kernel and engine.
//
// Its rule: a step takes no lock, and makes a CPU serialise only if that is its purpose. A step that stores to text
// first reports the instructions that the text has afterwards (smpev.Image). So a CPU that runs the text as it was
// before the step, or as it is after it, runs whole instructions; between two stores of one step it may not.
//
// Its limits: memory for code comes and goes in whole pages, at addresses that the scenario gives. Tasks are the
// kernel's, so membarrier and a suspended thread are IPIs to a CPU. A task that is stopped in a routine of the kernel
// can't be moved. A breakpoint's handler that waits until the breakpoint is gone knows of stores by hand only,
// and isn't preempted meanwhile. Memory that loses the permission to execute loses it for all CPUs at once, before the
// IPIs that flush their translations.
package byhand
