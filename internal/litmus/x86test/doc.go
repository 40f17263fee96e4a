// Package x86test reads litmus tests of x86 and assembles their threads.
//
// What it is: a parser of two dialects that herd7 reads, "X86_64" (AT&T order,
// movl $1,(x)) and "X86" (Intel order, MOV [x],$1), and an assembler of the
// instructions that such tests use. What it assembles is real machine code: the
// simulated processor decodes and executes it as any other.
//
// What it is not: it runs nothing, and it is no general assembler. It doesn't know
// memory models.
//
// Its rule: never silently wrong. What it can't read or assemble is an error that
// names the line and the remedy.
//
// A register or a location that the test doesn't initialise begins as 0. Their types
// are int unless the test says otherwise, or an instruction moves 64 bits. X86 is
// assembled as 64-bit code too: its registers are the lower halves of the long ones.
//
// # Limits
//
// No symbolic registers, no vectors, no clflush and no non-temporal stores (the
// machine doesn't model them), no stack: push, call and the stack pointer are
// refused. No CS and IP in conditions. At most 16 threads, 256 instructions a
// thread, 64 locations. Of two registers, cmovc and cmpxchg are refused: herd7 reads
// them in another order than assemblers do.
package x86test
