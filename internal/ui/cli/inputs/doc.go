// Package inputs reads what a command line names: scenarios, traces, and lists of names.
//
// What it is: Input, a scenario with its name on the command line and its program's checksum; the
// origin of traces, which has the same checksum; the flags for intended faults (Broken) and for
// what runs ignore (GoOn); and what can be said of a scenario's probes without a search. If an
// argument is something else, or misspelt, the error gives the command line that was probably
// meant.
//
// What it is not: it searches nothing. A file is recognised by its content, not by its name.
//
// Its rule: a file called NAME.kps is never run as a scenario, since it may have come by mail.
//
// Its limits: for an error message a few lines of a scenario are read without running it, which
// may miss a computed name.
package inputs
