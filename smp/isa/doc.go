// Package isa decodes, executes and relocates x86 instructions.
//
// What it is not: it knows no machine. Registers and memory are handed in, and
// what an instruction asks of the machine is handed back as an Outcome.
//
// Its rule: never silently wrong. What it can't decode or execute is an error
// that names the bytes.
//
// Its limits: 64-bit mode; the integer instructions a compiler emits. Data
// accesses are done at once, in the order the machine steps.
package isa
