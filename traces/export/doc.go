// Package export writes a run for tools that people already use: ftrace's text, Chrome's
// trace events, JSON lines, and a text of two columns for mails.
//
// What it is not: a format of its own. What can be replayed is a trace file (package
// traces); none of these can.
//
// Its rule: each tool's own words where it has some, a switch of tasks is sched_switch,
// and the page's words where it has none. Nothing is written that the scene hasn't.
//
// Its limits: a timestamp is the run's time, in cycles as if at 1 GHz: what the clock of
// the CPU shows, and later than the event before, whoever's that was. So events come in
// the order in which they happened, and a CPU that stood still hasn't been anywhere in
// the meantime; how long things take is not to be read off it.
package export
