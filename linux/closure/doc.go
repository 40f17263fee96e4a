// Package closure determines which part of a kernel runs as compiled, and what that part calls
// outside itself.
//
// What it is: a cut by inclusion. A set (sets.go) names source files of the kernel and the
// functions that are called from outside. Of walks from those by decoding: functions of the files
// are inside; everything else that is called is the boundary, which package linux implements in
// Go. Compare compares a kernel with known ones.
//
// What it is not: it runs and changes nothing. It doesn't know what a service of the boundary
// must do.
//
// Its rule: a kernel without DWARF doesn't say which file defines a function. So the names are
// data: names.txt, made from the DWARF of known kernels, and known.txt, made by the walk; each processor has
// names of its own. Tests regenerate both (-update) and compare. What is known of a processor's code is a row
// (code.go).
//
// # Limits
//
// Calls through pointers are listed but not followed; a function whose address the code takes is
// walked if a set has it. Calls in the replacements of alternatives are not seen. If a kernel
// renames functions (LTO), its boundary is larger than necessary.
package closure
