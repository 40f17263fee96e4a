package main

import "kpsim/internal/verbs/report"

// viewCmd is kpsim view.
type viewCmd struct{ report.View }

// Help implements kong.HelpProvider.
func (viewCmd) Help() string {
	return `Shows a trace as a page: what went wrong, and how it came about; a lane for each CPU, what waits for what, the patched bytes and what each CPU may still fetch of them, a kernel's lines of C, the state of the probes, and the deviations. n and p go along the story. Go through the events with the arrow keys, or type g and the number of an event as replay and explain print it; ? lists the other keys. The page is served on this machine until ^C, or written to a file, which is whole by itself and can be mailed.

Examples:

  kpsim view traces/corpus/T2-second-instruction.kps
  kpsim view --passing --html race.html traces/corpus/T2-second-instruction.kps
  kpsim view traces/before.kps traces/after.kps

Exit status: 0 shown, 1 shown, but the run isn't what the trace says, which the page says too, 2 bad input, 3 a bug of the simulator.`
}
