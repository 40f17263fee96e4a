// Package livepatch is the kernel's livepatch as a client of ftrace: calls of patched functions continue in others.
//
// It has the consistency model of 4.12 and later: while a patch is in transition each task has a state (patch_state),
// by which the handler picks the old function or the new one. A task is switched when it is off its CPU and none of
// the replaced functions is on its stack, on its way to user mode, and, where kernels do that (6.4 to 6.14), in
// cond_resched, where it checks its own stack. When all have been switched the transition is complete: the handler
// stops seeing removed functions before it stops checking states. A transition can be reversed.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: klp_mutex, ftrace_lock, text_mutex. klp_mutex is released while a transition waits.
//
// Its limits: a kernel's enable returns when the transition has begun, and checks again each second; here it returns
// when the transition is complete, and checks again when a task that was in the way has given up its CPU. An idle CPU
// is switched as if it had been woken to go through its loop. Everything on a stack that looks like an address
// counts; one that a return probe or an fprobe has replaced counts as the original, or the stack is refused
// (kapi.Tasks.Unwind). No signal is sent to tasks that don't switch, and none is forced except by a mutant. Objects
// of modules loaded later aren't patched, there is no replace, there are no callbacks, no shadow variables, and
// replaced code isn't relocated.
package livepatch
