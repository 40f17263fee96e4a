// Package linuxev is the event vocabulary of a kernel's own engine: what the kernel says
// about itself, and what its memory shows.
//
// What it is: the kinds, their words, and the numbers that their arguments have.
//
// What it is not: it has no code of the engine, and no word of kprobes (kpev).
//
// Its rule: numbers are in traces' digests, and aren't changed.
package linuxev
