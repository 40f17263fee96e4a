// Package source maps a kernel's instructions to its C source.
//
// What it is: Of, which finds the lines of a kernel in its own DWARF, or in that of the vmlinux
// of the same build beside it; names of functions, with the callers that they are inlined into;
// the source's text, from a folder; and Chain, the open calls on a stack.
//
// What it is not: it takes no part in a run. Without lines it gives function and offset.
//
// Its rule: what can't be known is left out. A stack is untrusted: a word on it counts as a
// return address only if a call of the function below precedes it.
//
// # Limits
//
// Where functions end in tail calls, a chain shows only the last function. If a function was
// called by its address, its caller is taken to be the next one on the stack that makes such a
// call.
package source
