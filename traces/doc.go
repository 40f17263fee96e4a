// Package traces says what happened and how it is written down: events, their
// digest, the sinks that watch them, schedules as people read them, and the
// trace file.
//
// What it is not: it doesn't know what an event means. The vocabularies are
// packages of their own (smp/smpev, kprobes/kpev), so that a monitor can import
// the words without the machine.
//
// Its rule: a search stores nothing; what is stored is a scenario, the sparse
// list of deviations from the default run, and the digest they lead to. It is
// the deviations, not a seed, that outlive a change of the program.
package traces
