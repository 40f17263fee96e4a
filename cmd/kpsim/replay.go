package main

import "kpsim/internal/verbs/report"

// replayCmd is kpsim replay.
type replayCmd struct{ report.Replay }

// Help implements kong.HelpProvider.
func (replayCmd) Help() string {
	return `Prints what every CPU did, what was broken, whether that is what the trace says, and the digest of all events: the same one each time. A trace is text. Edit its scenario or its schedule, and replay shows what becomes of it.

Examples:

  kpsim replay traces/second-instruction.kps
  kpsim replay --json traces/second-instruction.kps

Exit status: 0 the same as the trace says, 1 not the same, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
