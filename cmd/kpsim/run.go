package main

import "kpsim/internal/verbs/report"

// runCmd is kpsim run.
type runCmd struct{ report.OneRun }

// Help implements kong.HelpProvider.
func (*runCmd) Help() string {
	return `Runs a scenario once, and prints kprobes/list as it is in the end, how often each probe was hit and missed, what the kernel has printed, and how the run ended. The same seed is the same run.

Examples:

  kpsim run safe-full
  kpsim run safe-full --seed 7
  kpsim run --json torn-jump --seed 3 --strategy random
  kpsim run --edition 4.15 --as-shipped globally-off

Exit status: 0 nothing is broken, 1 a property is, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
