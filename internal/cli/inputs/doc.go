// Package inputs reads what a command line names: scenarios, traces, and lists of names.
//
// What it is: Input, a scenario with the name it was given by and the checksum of its
// program; the traces' origin, which has the same checksum; the flags that say what is
// broken on purpose (Broken) and what runs ignore (GoOn); and what can be said of a
// scenario's probes without a search. An argument that is something else, or misspelt, is
// answered with the command line that was meant.
//
// What it is not: it searches nothing. A file is recognised by its content, not by its name.
//
// Its rule: a file called NAME.kps is never run as a scenario, since it may have come by mail.
//
// Its limits: a glimpse of a scenario, for an error message, reads a few lines of it without
// running it, and may miss a name that is computed.
package inputs
