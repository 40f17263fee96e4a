package main

import "kpsim/internal/verbs/findings"

// verifyCmd is kpsim verify.
type verifyCmd struct{ findings.Verify }

// Help implements kong.HelpProvider.
func (*verifyCmd) Help() string {
	return `Where explore draws schedules, verify runs all of them. What it says of a scenario that keeps its properties is a certificate: "Never, complete for ≤ K deviations under fetch model M", or with --full "Never, complete under fetch model M". A schedule that needs more deviations than K may still break something.

A deviation is a choice that the default run doesn't make: another CPU moves, an interrupt comes, a fetch sees older bytes. They are tried after each step that other CPUs may see something of; between two such steps it makes no difference where. A schedule is pruned when it comes to a state in which another one had as many deviations left, and who goes on by default is the same. Those with fewer deviations come first, so what is found needs the fewest. It is written to traces/NAME-verify.kps, and what explore has written stays.

--full doesn't count deviations. Where a schedule comes to a state of the machine, the kernel, the engine and the monitors that another one has come to, it ends: what can come after was run, or will be. Other CPUs come in after each step that conflicts with one of theirs: where they don't, it makes no difference. With two CPUs, the coherent fetch model and no NMI a short interrupt is one step, for no other CPU can tell. What a routine has in its local variables can't be looked at; a state has what the routine has read instead. Of one in 256 states that are come to again it is checked that runs go on from both alike. Text that reads the clock, or bytes of its stack that it hasn't written, is refused.

--by classes takes two schedules for one only if they differ in nothing but the order of steps that touch nothing in common, whatever states they come to; with --full that is dynamic partial-order reduction. There are many more classes than states: it is another way to the same answer, and takes ten times as long or more. --ignore and --all-properties let a schedule go on after what it breaks, as in explore; --all-properties runs all schedules of at most K deviations (--all).

--runs N ends either, and the line then says how far it came, and not complete.

Examples:

  kpsim verify safe-none
  kpsim verify --deviations 3 safe-none safe-full
  kpsim verify --full safe-none safe-full
  kpsim verify --deviations 4 mine.star
  kpsim verify --full --by classes mine.star
  kpsim verify --mutant no-quiesce safe-none
  kpsim verify --deviations 3 --all-properties --mutant no-sync-arm safe-none

Exit status: 0 as expected, 1 something against expectation or not complete, 2 bad input or a witness that could not be saved (it is printed all the same), 3 a bug of the simulator, 130 interrupted.`
}
