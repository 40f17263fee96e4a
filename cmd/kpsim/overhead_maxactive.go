package main

import "kpsim/internal/eval/overhead/pages"

// overheadMaxactiveCmd is kpsim overhead maxactive.
type overheadMaxactiveCmd struct{ pages.Maxactive }

// Help implements kong.HelpProvider.
func (*overheadMaxactiveCmd) Help() string {
	return `A return probe follows as many calls at a time as its maxactive says; one more is missed, and counted in nmissed. Tasks call its function, which takes some 30 instructions, and do something else that is longer in between. Printed is which share of the calls is missed.

--json has it by how many calls were in the function at a time, too.

Examples:

  kpsim overhead maxactive
  kpsim overhead maxactive --edition 6.9 --tasks 1-16 --maxactive 1-8
  kpsim overhead maxactive --schedule sticky --seed 7
  kpsim overhead maxactive --json | jq 'select(.missed_share > 0.1)'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
