package main

import "kpsim/internal/verbs/report"

// rerecordCmd is kpsim rerecord.
type rerecordCmd struct{ report.Rerecord }

// Help implements kong.HelpProvider.
func (rerecordCmd) Help() string {
	return `A trace whose scenario was edited, or that an older kpsim has written, is replayed: if its deviations are not where it says, they are looked for nearby. If the run breaks the same property at the same place, the file's schedule, message, digest and schedule format are written anew; its scenario stays as it is. If it doesn't, the file is left alone.

Examples:

  kpsim rerecord traces/second-instruction.kps
  kpsim rerecord --any-place traces/corpus/*.kps

Exit status: 0 all are up to date, 1 some are left as they were, 2 bad input, or a trace that could not be written, 3 a bug of the simulator, 130 interrupted. A trace is written whole or left as it was.`
}
