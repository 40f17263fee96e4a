package main

import "kpsim/internal/eval/mutants"

// mutantsCmd is kpsim mutants.
type mutantsCmd struct{ mutants.Mutants }

// Help implements kong.HelpProvider.
func (*mutantsCmd) Help() string {
	return `A mutant leaves out, doubles or swaps one step of a protocol. Each is searched for in the scenario where it shows, and the property that is named for it must notice. A line says which property noticed first, in how many schedules: the median over the seeds, the interval that holds the true median with 95 % or more (of 6 seeds or more), and the slowest seed; and how many deviations the shortest of three shrunk witnesses has.

It fails if a property notices that isn't named for the mutant, if a mutant survives a search and isn't marked equivalent, if one is marked so and is noticed, or its certificate (every schedule there is) isn't complete, if more than five are marked; and, without names, if there is a property that notices none.

Examples:

  kpsim mutants
  kpsim mutants no-quiesce lost-kick
  kpsim mutants --seeds 5 --blind
  kpsim mutants --json | jq 'select(.slowest > 5000)'
  kpsim mutants --markdown > docs/mutants.md
  kpsim mutants --html mutants.html
  kpsim mutants --barriers --runs 100

Exit status: 0, 1 something is wrong with a mutant or a property, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
