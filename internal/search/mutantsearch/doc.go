// Package mutantsearch searches for mutants: the schedule that finds each one, the property, and the witness. Mutants
// marked equivalent that have a certificate are proved instead.
//
// What it is not: it breaks nothing. The catalogue does (kprobes/mutants).
//
// Its rule: the result depends on the seed, neither on the number of workers nor on time.
package mutantsearch
