// Package traces holds the record of a run and its written form: events, their digest,
// the sinks that watch them, readable schedules, and the trace file.
//
// What it is not: it doesn't know what an event means. The vocabularies are packages of
// their own (smp/smpev, kprobes/kpev), so that a monitor can import the words without
// the machine.
//
// Its rule: a search stores nothing. What is stored is a scenario, the sparse list of
// deviations from the default run, and the digest they lead to. The deviations, not a
// seed, outlive a change of the program.
//
// # Limits
//
// What mail programs do to a trace is undone if it is still text: not base64, nor HTML. A
// trace with long lines and no checksum, as earlier kpsims wrote them, must have been
// folded once only. A comment of the scenario that was folded is joined only if something
// else was folded, too.
package traces
