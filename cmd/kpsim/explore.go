package main

import "kpsim/internal/verbs/findings"

// exploreCmd is kpsim explore.
type exploreCmd struct{ findings.Explore }

// Help implements kong.HelpProvider.
func (*exploreCmd) Help() string {
	return `A line says of a scenario: which property, whether it was broken Never or Sometimes, by how many of how many runs, and whether that is as its author expects. What breaks a property is shrunk to the fewest deviations from the default run and written to traces/NAME.kps.

A run ends at the first property that it breaks. With --ignore it goes on after those that are named, with --all-properties after any. To go on: the machine runs as before, the monitor that found something is told of nothing more in that run, the others are told of everything. After T1, T2, B1, S1 or O1 a CPU may execute garbage, so what is broken later may be a consequence; the line says in how many runs another property was broken before, and a witness without that is preferred. A trace says what it goes on after.

The lines below it say how much that shows. Of a Never: how many different behaviours a sample of the runs were (runs that differ only in the order of steps that don't touch each other are one), the estimated chance that one more run is a new one, which kinds of event were never seen, and at how many of the places where an interrupt could come one did. Of a Sometimes: after how many schedules a search finds it, the median over 20 seeds. Of a scenario of one's own each probe has a line: in what share of the runs it was hit, became a jump, and was disarmed; and what the default run shows is said before the search: probes that are refused, or can't become a jump, and what changes no run.

Examples:

  kpsim explore
  kpsim explore second-instruction torn-jump
  kpsim explore --runs 1000000 --seed 7 mine.star
  kpsim explore --mutant no-sync-1 jump-label-flip
  kpsim explore --edition 4.15 register-storm
  kpsim explore --edition 4.15 --as-shipped no-sail-past
  kpsim explore --strategy deviations --json safe-none
  kpsim explore --unbiased second-instruction
  kpsim explore --ignore T1 torn-jump
  kpsim explore --all-properties --mutant no-sync-arm safe-none
  kpsim explore --self-check=1000000
  kpsim explore --shard 1/4 --out 1.json --runs 1000000 mine.star

Exit status: 0 all as expected, 1 something against expectation, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted. What is first in 3, 130, 1, 2, 0 counts.`
}
