// Package debugger is a kernel debugger's breakpoints, as kgdb has them: another owner of
// int3 in live text, which knows nothing of probes.
//
// A breakpoint is a byte that is saved and an int3 over it; clearing it puts the byte back,
// whatever stands there by then. A CPU that hits one is claimed by the notifier chain after
// kprobes has said that the trap isn't its own. It goes on after the instruction that the
// saved byte begins: with kgdb the user says "continue", and the instruction is stepped
// while all other CPUs are held, so that they see nothing of it. One that hits a breakpoint
// which was cleared meanwhile goes back to its address (kgdb_skipexception).
//
// On i386 a trap's frame ends where the interrupted stack ends, or six words below. What is
// stepped may push there, or move the stack; so the frame is moved to where that of the
// debug trap after a step lies.
//
// It is a client of the waist and imports nothing of the machine.
//
// Lock order: dbg_master_lock, and nothing inside. text_mutex isn't taken: while a task holds
// it a breakpoint is neither set nor cleared (kgdb_arch_set_breakpoint).
//
// Its limits: kgdb holds all other CPUs by an NMI from before it writes a byte until it goes
// on. Here the byte is written in one step, and then each CPU is sent an IPI to serialise:
// until that comes one may run on with what it has fetched before, a whole instruction
// either way. The debugger isn't asked before kprobes (CONFIG_KGDB_LOW_LEVEL_TRAP): a
// kernel's own engine that does that is refused beside it. With a kernel's engine it is asked
// when the kernel's handler has returned, not in its notify_die. What
// kprobes' blacklist has may be set (CONFIG_KGDB_HONOUR_BLOCKLIST). An instruction that
// faults under a breakpoint ends the run with a BUG. There are no watchpoints.
package debugger
