// Package survey asks the rules about every instruction of an object: what
// kpsim check and kpsim disasm print.
//
// What it is: the bridge from a loaded object (smp/image) to the rules of a
// kernel (kprobes/rules): functions as the kernel's symbol table has them, with
// the facts of their text.
//
// What it is not: it knows no rule and prints nothing.
//
// Its rule: what the object says, and nothing guessed. A place is reserved,
// blacklisted or excepted because a table of the object names it.
//
// Its limits: those of the rules.
package survey
