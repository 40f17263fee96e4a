package main

import "kpsim/internal/eval/overhead/pages"

// overheadFitCmd is kpsim overhead fit.
type overheadFitCmd struct{ pages.Fit }

// Help implements kong.HelpProvider.
func (*overheadFitCmd) Help() string {
	return `Fits both tiers to the documents' 27 figures anew, and prints a summary; the numbers, and which of them are at their bound of 0 or below 0; how far off each figure is, and would be if it, its processor or its architecture were left out; and which figures can't be right together.

In the hits of k and rb together the same happens as in those of b and r, so their figures should have the same sum, whatever anything costs. So for any costs some figure of a machine is off by "at least" so much. A figure is rounded to 0.01 µs: it may be off by 0.005.

Last come figures of 2006 that nothing was fitted to, predicted from others of the same machine.

Examples:

  kpsim overhead fit
  kpsim overhead fit --json | jq 'select(.kind == "residual")'

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}
