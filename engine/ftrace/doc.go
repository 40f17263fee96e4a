// Package ftrace is the kernel's ftrace: it calls its clients from the entries of functions. A site is a 5-byte nop
// there, and a call of ftrace's trampoline while a client wants it. Sites are rewritten in batches
// (text_poke_bp_batch).
//
// It is a client of the waist and imports nothing of the machine. Engines are its clients in turn, by Tracer: kprobes
// at a function's entry.
//
// Lock order: direct_mutex, ftrace_lock, text_mutex.
//
// A site that another patcher writes, too, is read before it is written. If its bytes aren't those that ftrace left
// there, ftrace warns and shuts down.
//
// Its trampoline is a routine that calls all clients which want the site, the newest client first. If trampolines are
// text (Trampolines), the common one calls what suits the registered clients: a function that does the same, or the
// function of the only client. That call is patched when clients come and go:
//
//	step 1: it leads to the function that goes through the list, which asks each client's filter
//	step 2: the sites are rewritten
//	step 3: if there is only one client left, and it isn't dynamic, it leads to that client's function
//
// A client may also have a trampoline of its own, which a site calls that no other client wants. It is made when the
// client is registered, before step 1. A dynamic client's is freed when it is unregistered, after two waits; others
// stay for the next registration.
//
// A kernel's own ftrace may have the clients and the direct calls in its place (Core). What is said here is then the
// kernel's business; a direct call is its client's, which makes one call at a time.
//
// Its limits: a client is found together with its handler: function_trace_op, which the trampoline loads before it
// calls, isn't modelled. Trampolines save and restore all registers, in one step each, for all clients. A direct call
// is of one function (since 6.4 a client may have several), and its client accepts a live patch beside it where kernels
// ask it (ops_func, 6.0). Recursion is left to the clients (ftrace's recursion bits aren't modelled).
package ftrace
