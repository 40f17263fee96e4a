// Package survey asks the rules about every instruction of an object, for kpsim check
// and kpsim disasm.
//
// What it is: the bridge from a loaded object (smp/image) to the rules of a kernel
// (kprobes/rules). It takes functions as the kernel's symbol table has them, with the
// facts about their text.
//
// What it is not: it knows no rule and prints nothing.
//
// Its rule: it uses only what the object states, and guesses nothing. A place is reserved,
// blacklisted or excepted because a table of the object names it.
//
// Its limits: those of the rules.
package survey
