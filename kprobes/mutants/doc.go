// Package mutants is what is broken on purpose: each mutant leaves out, doubles
// or swaps one step of a protocol, and says which property must notice.
//
// What it is not: it holds no copy of an engine. A mutant wraps an interface of
// the waist, or a step of kprobes.Steps.
//
// Its rule: a mutant is a row of All and at most one function beside the table. A mutant that no property kills, or that
// the wrong one does, fails the table test.
package mutants
