// Package fprobe is the kernel's fprobe as editions to 6.13 have it: one client of ftrace for
// many functions, with a handler where a call begins and one where it has returned.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: ftrace_lock, text_mutex; what registers or unregisters one fprobe does so alone.
//
// Its limits: it has hooks of returns of its own, on a trampoline of its own, where a kernel
// shares both with return probes (rethook); since 6.14 they are those of the function graph
// tracer. Handlers are functions of the scenario, without arguments. A handler that calls a
// function with the fprobe is nested, the hook of a task that ends within a call isn't given back
// (rethook_flush_task), a look at the stacks doesn't find an address that a hook has replaced, and counts as missed (ftrace_test_recursion_trylock).
package fprobe
