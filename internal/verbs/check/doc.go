// Package check implements kpsim check and kpsim disasm: a kernel's answers to a probe on each
// instruction of an object file.
//
// What it is: types with the flags of both commands and a method Run. They load the object, ask
// kprobes/survey, and print tables, JSON lines or an HTML page.
//
// What it is not: it decides nothing about a probe; kprobes/rules does.
//
// Its rules. Places are offsets in a function, as the kernel names them. JSON lines are written
// without reflection, since a module has a hundred thousand of them.
//
// Its limits: a page holds a bounded number of functions and lines, and says when it leaves some
// out.
package check
