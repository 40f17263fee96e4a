// Package closure finds which part of a kernel runs as it was compiled, and what that
// part calls beside.
//
// What it is: the cut by inclusion. A set (sets.go) names source files of the kernel and
// the functions that are called from outside. Of walks from those by decoding: what lies
// in the files is inside, all else that is called is the boundary, which package linux
// serves in Go. Compare says how a kernel differs from those that are known.
//
// What it is not: it runs nothing, and changes nothing. It doesn't know what a service
// has to do.
//
// Its rule: a kernel without DWARF doesn't say which file a function is of. So the names
// are data: names.txt, made from the DWARF of known kernels, and known.txt, made by the
// walk. Tests make both anew (-update) and compare.
//
// # Limits
//
// Calls through pointers are listed, and not followed; a function whose address the code
// takes is walked if a set has it. Calls in the replacements of alternatives are not
// seen. A kernel whose functions have other names (LTO) has a larger boundary than it
// needs.
package closure
