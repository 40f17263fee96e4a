package main

import "kpsim/internal/verbs/report"

// explainCmd is kpsim explain.
type explainCmd struct{ report.Explain }

// Help implements kong.HelpProvider.
func (explainCmd) Help() string {
	return `Says in a few sentences how a trace comes to break its property, prints what every CPU did, and finds the point of no return: the choice after which most runs fail, whatever is chosen later.

For that the first choices of the trace are replayed and the others drawn at random, many times. A sentence begins with the number of the event that it tells; replay --all prints all events.

Examples:

  kpsim explain traces/second-instruction.kps
  kpsim explain --runs 5000 --json traces/second-instruction.kps

Exit status: 0 the trace breaks the property that it says, where it says, 1 it doesn't, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
