// Package mutantsearch searches for mutants: by which schedule each one is found, by which
// property, and with which witness. What is marked equivalent and has a certificate is
// proved instead.
//
// What it is not: it breaks nothing. The catalogue does (kprobes/mutants).
//
// Its rule: the result depends on the seed, neither on the number of workers nor on time.
package mutantsearch
