package main

import "kpsim/internal/findings"

// fuzzCmd is kpsim fuzz.
type fuzzCmd struct{ findings.Fuzz }

// Help implements kong.HelpProvider.
func (*fuzzCmd) Help() string {
	return `Whole scenarios are drawn: a machine of any edition or of none, with settings changed one by one; functions made of drawn instructions, beside those of the library; probes of every kind at any of their bytes; handlers, tasks and interrupts; and the schedules. What is drawn is sound, so that no schedule may break any property. Each program is run under so many schedules.

A line for each edition says in which share of the schedules, of those on machines that make breakpoints jumps, a jump was written in a function while a task was in a call of it; which share had 50 points or more at which a strategy could choose; and how many points they had: the least, and what 5, 25, 50, 75 and 95 in a hundred schedules have no more than. Of each property that was broken the first program's witness is shrunk and written to traces/NAME.kps.

Examples:

  kpsim fuzz
  kpsim fuzz --for 1h --seed 1000000
  kpsim fuzz --mutant no-sync-disarm
  kpsim fuzz --seed 7 --print > drawn.star

Exit status: 0 nothing was broken, 1 something was, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}
