package main

import "kpsim/internal/verbs/report"

// exportCmd is kpsim export.
type exportCmd struct{ report.Export }

// Help implements kong.HelpProvider.
func (exportCmd) Help() string {
	return `Writes what a trace does for other tools. A trace is replayed for that, and what is written is of that run.

  ftrace     text as the kernel's file trace has it, for Perfetto too: sched_switch, sched_waking and sched_wakeup, interrupts, IPIs, and instants of tracing_mark_write for the rest
  trace.dat  a file for trace-cmd and KernelShark: the same events, and those of a system kpsim with their arguments as fields; it wants -o
  chrome     Chrome's trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing: a lane a CPU, waits beside them, arrows from IPIs to interrupts, counters
  json       one JSON object an event, a line each: docs/events.md has the schema
  litmus     a litmus test, for kpsim litmus and herd7: what CPUs did with words of memory that they share, and the values that they saw as its condition. X86_64 if it is of compiled code; in C, for the kernel's memory model, if variables of the kernel's routines are in it, which are known under tso and lkmm
  columns    two columns and the forbidden outcome, in the form of a litmus test, for a mail

Times are the run's: events are in the order in which they happened, and a CPU that stood still was nowhere in the meantime.

Examples:

  kpsim export traces/corpus/T2-second-instruction.kps --to columns
  kpsim export traces/sb.kps --to litmus -o sb.litmus && kpsim litmus sb.litmus && kpsim litmus --memory sc sb.litmus
  kpsim export traces/sb.kps --to litmus --words x,y
  kpsim export traces/second-instruction.kps --to chrome -o second-instruction.json
  kpsim export traces/second-instruction.kps --to json | jq 'select(.kind == "TextStore")'
  kpsim export traces/second-instruction.kps --to ftrace -o second-instruction.txt   # open it in ui.perfetto.dev
  kpsim export traces/second-instruction.kps --to trace.dat -o trace.dat && trace-cmd report -t trace.dat

Exit status: 0 written, 1 written, but the run isn't what the trace says, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
