// Package livepatch is the kernel's livepatch as a client of ftrace: a call of a patched
// function goes on in another one.
//
// It is a client of the waist and of ftrace, and imports nothing of the machine.
//
// Lock order: klp_mutex, ftrace_lock, text_mutex.
//
// Its limits: a patch is in force for all tasks at once, as with the kernel's "immediate"
// patches (4.12 to 4.14): that one task after the other goes over to it, when it isn't in a
// patched function (klp_try_switch_task), isn't modelled. So two functions that are
// patched together are patched one after the other. Objects of a module that comes later
// aren't patched then, there are no callbacks, no shadow variables, and replaced code isn't
// relocated.
package livepatch
