package main

import "kpsim/internal/litmus"

// litmusCmd is kpsim litmus.
type litmusCmd struct{ litmus.Litmus }

// Help implements kong.HelpProvider.
func (*litmusCmd) Help() string {
	return `A litmus test is a few threads of a few instructions and a condition about the end. Each thread runs on a CPU of its own of the simulated machine, one of x86 as machine code, under every schedule there is; of schedules that come to the same state one goes on from there. Printed is what herd7 prints: the final states, in how many the condition holds and in how many it doesn't, and Never, Sometimes or Always. Folders are searched for NAME.litmus; what is in other languages there is left out.

Of x86 two dialects are read. X86_64: movl $1,(x) and movl (x),%eax. X86: MOV [x],$1 and MOV EAX,[x]. Instructions: mov, add, sub, and, or, xor, cmp, test, inc, dec, shl, shr, xchg, xadd, cmpxchg, cmovc, setnb, jmp, je, jne, jl, jle, jg, jge, js, jns, mfence, sfence, lfence, nop, ret; with b, w, l or q behind them, and lock before those that read and write memory. A comment "Result: Never", Sometimes or Always says what is to be expected.

Tests in C are judged under lkmm by the axioms of the kernel's memory model: READ_ONCE, WRITE_ONCE, smp_*, atomic_*, xchg, cmpxchg, spinlocks, RCU, if, and plain accesses, whose data races are reported. With --explain each thread is a routine of the simulated kernel, and its locations are cells; where the machine has no schedule of an outcome, what each load reads is shown.

Under tso a CPU holds its stores for a while, as x86 does, and its loads may go before them. With --explain such a store is "held" until drain@cpuN makes the oldest one of a CPU take effect, or an instruction does that waits for that, such as mfence.

Examples:

  kpsim litmus sb.litmus
  kpsim litmus --explain sb.litmus
  kpsim litmus --memory sc sb.litmus mp.litmus
  kpsim litmus --memory tso C-MP.litmus
  kpsim litmus --json tests/

Exit status: 0 all tests were run and none is against its expectation, 1 one is, 2 bad input, or a test that was given up, 3 a bug of the simulator, 130 interrupted.`
}
