// Package forms makes programs that execute each form of instruction that kernels execute on the saved registers.
//
// What it is: a processor's row lists the forms (simulate_* of a kernel's arch/*/kernel/probes) with the fields of
// their words. From it Programs makes functions, each with one probed instruction: its registers, the bits of its
// distance and the values that it compares go through all that matters, and what the function returns depends on each.
// The programs are serial, so their answers are compared with kpsim's own engine, and each call with the function
// without a probe.
//
// What it is not: no schedule matters to these programs, and nothing is drawn but the bits of distances.
//
// Its rule: a kernel's decoder decides what is simulated. A form that it copies or refuses is still a sound program.
//
// Its limits: registers that the kernel's own code relies on (the stack pointer, the current task) are read and never
// written.
package forms
