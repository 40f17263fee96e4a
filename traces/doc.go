// Package traces holds the record of a run and its written form: events, their digest,
// the sinks that watch them, readable schedules, and the trace file.
//
// What it is not: it doesn't know what an event means. The vocabularies are packages of
// their own (smp/smpev, kprobes/kpev), so that a monitor can import the words without
// the machine.
//
// Its rule: a search stores nothing. A trace has a scenario, the sparse list of
// deviations from the default run, and the digest they lead to. The deviations, unlike a
// seed, outlive a change of the program.
//
// # Limits
//
// Changes by mail programs are undone if the trace is still text: not base64, nor HTML. A
// trace with long lines and no checksum, as earlier versions wrote them, must have been
// folded only once. A folded comment of the scenario is joined only if another line was
// folded, too.
package traces
