// Package source says of a kernel's instructions where they are in its C.
//
// What it is: Of, which finds the lines of a kernel: in its own DWARF, or in that of the
// vmlinux of the same build that lies beside it; names of functions, with the callers that
// they are inlined into; the source's text, from a folder; and Chain, the calls that are
// open on a stack.
//
// What it is not: it takes no part in a run. Without lines it names function and offset.
//
// Its rule: what it can't know it leaves out. A stack is read, not trusted: a word on it
// is a return address only if a call of the function below stands before it.
//
// # Limits
//
// Of functions that end in a jump to the next one a chain shows the last. The caller of a
// function that was called by its address is taken to be the next one on the stack that
// calls so.
package source
