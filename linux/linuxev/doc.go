// Package linuxev is the event vocabulary of a kernel's own engine: the kernel's reports
// about itself, and findings read from its memory.
//
// What it is: the kinds, their words, and the numbers that their arguments take.
//
// What it is not: it has no code of the engine, and no word of kprobes (kpev).
//
// Its rule: the numbers enter the digests of traces and never change.
package linuxev
