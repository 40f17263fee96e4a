// Package fprobe is the kernel's fprobe as it is from 5.18 to 6.13: one client of ftrace for
// many functions, with a handler where a call of one begins and one where it has returned.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: ftrace_lock, text_mutex. An fprobe is registered and unregistered by one task.
//
// Its limits: it hooks returns by itself, with a trampoline of its own, where a kernel shares
// both with return probes (rethook); since 6.14 the hooks are those of the function graph tracer.
// Handlers are functions of the scenario, without arguments, and an entry handler can't refuse a
// call. A function that a handler calls is missed, and so is one that an interrupt calls which
// comes within a handler (a kernel tells the two apart). The hook of a task that ends within a
// call isn't given back (rethook_flush_task). A look at the stacks doesn't find an address that a
// hook has replaced. There is no FPROBE_FL_KPROBE_SHARED, and none is disabled.
package fprobe
