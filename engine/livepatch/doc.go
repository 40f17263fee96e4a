// Package livepatch is the kernel's livepatch as a client of ftrace: calls of patched
// functions go on in others.
//
// It has the consistency model of 4.12 and later: while a patch is in transition each task has a
// state (patch_state), by which the handler picks the old function or the new one. A task is
// switched when it is off its CPU and its stack has no function that goes, on its way to user
// mode, and, where kernels do that (6.4 to 6.14), in cond_resched, where it looks at its own
// stack. When all have been switched the transition is complete: functions that are taken away
// leave the handler's sight before it stops asking for states. A transition can be reversed.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: klp_mutex, ftrace_lock, text_mutex. klp_mutex is let go while a transition waits.
//
// Its limits: a kernel's enable returns when the transition has begun, and looks again each second;
// here it returns when that is complete, and looks again when a task that was in the way has given
// its CPU up. An idle CPU is switched as if it had been woken to go through its loop. A stack is
// searched for whatever looks like an address; one that a return probe or an fprobe has
// replaced counts as what it was, or the stack is refused (kapi.Tasks.Unwind). No signal is
// sent to tasks that don't switch, and none is forced but by a mutant. Objects of a module
// that comes later aren't patched then, there is no replace, there are no callbacks, no
// shadow variables, and replaced code isn't relocated.
package livepatch
