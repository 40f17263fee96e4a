// Package isa decodes, executes and relocates x86 instructions.
//
// What it is not: it knows no machine. Registers and memory are handed in, and
// what an instruction asks of the machine is handed back as an Outcome.
//
// Its rule: never silently wrong. What it can't decode or execute is an error
// that names the bytes.
//
// Its limits: 64-bit mode; the integer instructions a compiler emits, and what
// a kernel needs around them. SSE, AVX, x87, I/O, system registers and memory
// behind fs and gs are decoded, and refused when executed. A flag that the SDM
// leaves undefined is cleared. Data accesses are done at once, in the order the
// machine steps; a repeated string instruction is one element a step.
//
// The files: layout (where the parts lie), decode and choose* (what they mean),
// a file for each family of instructions (what they do), relocate and encode
// (what is written elsewhere).
package isa
