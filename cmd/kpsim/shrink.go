package main

import "kpsim/internal/verbs/report"

// shrinkCmd is kpsim shrink.
type shrinkCmd struct{ report.Shrink }

// Help implements kong.HelpProvider.
func (shrinkCmd) Help() string {
	return `Takes away what the violation doesn't need: deviations, tasks, interrupt sources, operations, CPUs, functions; and moves what is left to where it reads simplest. The property, what happened where, and the state of the probe stay the same. Then it says of each deviation what becomes of the run without it. The trace itself isn't changed.

Examples:

  kpsim shrink mine.kps
  kpsim shrink --out traces/corpus/T2-mine.kps mine.kps
  kpsim shrink --force --json traces/second-instruction.kps

Exit status: 0 a smaller trace was written, or one just as small if there is nothing to take away; 1 the trace breaks its property no more, 2 bad input, or the smaller trace could not be saved (it is told all the same), 3 a bug of the simulator, 130 interrupted.`
}
