// Package lazyregexp compiles regular expressions of package level when they are first used.
//
// What it is: one function. kpsim has some forty such expressions, and a command uses few of them; compiling all took a
// tenth of the time of a short command.
//
// What it is not: an expression made at run time, whose error matters; that is regexp.Compile.
//
// Its rule: an expression that can't be compiled panics when it is first used.
package lazyregexp
