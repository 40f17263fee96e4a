// Package debugger is a kernel debugger's breakpoints, as kgdb has them: another owner of int3 in live text, which
// knows nothing of probes.
//
// A breakpoint is a saved byte with an int3 over it; clearing it writes the byte back, whatever stands there by then.
// If a CPU hits one, kprobes first declines the trap in the notifier chain, and then the debugger claims it. The CPU
// continues after the original instruction: with kgdb the user says "continue", and the instruction is stepped while
// all other CPUs are held, so that they see nothing of it. If the breakpoint was cleared meanwhile, the CPU goes back
// to its address (kgdb_skipexception).
//
// On i386 a trap's frame ends where the interrupted stack ends, or six words below. A stepped instruction may push
// there, or move the stack; so the frame is moved to where that of the debug trap after a step lies.
//
// It is a client of the waist and imports nothing of the machine.
//
// Lock order: dbg_master_lock, and nothing inside. text_mutex isn't taken: while a task holds it a breakpoint is
// neither set nor cleared (kgdb_arch_set_breakpoint).
//
// Its limits: kgdb holds all other CPUs by an NMI from before it writes a byte until it continues. Here the byte is
// written in one step, and then each CPU is sent an IPI to serialise: until it arrives a CPU may run what it has
// fetched before, a whole instruction either way. The debugger isn't asked before kprobes
// (CONFIG_KGDB_LOW_LEVEL_TRAP): a kernel with that option is refused beside it. With a kernel's engine it is asked
// when the kernel's handler has returned, not in its notify_die. A breakpoint may be set on kprobes' blacklist
// (CONFIG_KGDB_HONOUR_BLOCKLIST isn't modelled). An instruction that faults under a breakpoint ends the run with a
// BUG. There are no watchpoints.
package debugger
