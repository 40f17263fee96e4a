// Package fprobe is the kernel's fprobe of 5.18 to 6.13: one client of ftrace for many functions, with a handler at
// the entry of a call and one at its return.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: ftrace_lock, text_mutex. An fprobe is registered and unregistered by one task.
//
// Its limits: it hooks returns by itself, with a trampoline of its own, where a kernel shares both with return probes
// (rethook); since 6.14 the hooks are those of the function graph tracer. Handlers are functions of the scenario,
// whose only argument is the fifth, the data of the call. A handler that asks for data where no call is followed (there
// is no exit handler) shares the first call's. Functions called by a handler are missed, and so are
// functions called by an interrupt during a handler (a kernel distinguishes the two). The hook of a task that ends
// within a call isn't freed (rethook_flush_task). A scan of the stacks doesn't find an address that a hook has
// replaced. There is no FPROBE_FL_KPROBE_SHARED, and none is disabled.
package fprobe
