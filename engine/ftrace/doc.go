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
// Its limits: a client is found by one pointer, together with its handler: function_trace_op, which was separate
// until 405e1d834807, isn't modelled. There is one trampoline, which calls all clients that want the site, with all
// registers, the newest client first. A direct call is of one function (since 6.4 a client may have several), and its
// client accepts a live patch beside it where kernels ask it (ops_func, 6.0). Recursion is left to the clients
// (ftrace's recursion bits aren't modelled).
package ftrace
