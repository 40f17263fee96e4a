package main

import "kpsim/internal/eval/bench"

// benchCmd is kpsim bench.
type benchCmd struct {
	Search benchSearchCmd `cmd:"" help:"How fast the strategies are, and how soon they find each mutant and a harder bug."`
}

// Help implements kong.HelpProvider.
func (*benchCmd) Help() string {
	return `Examples:

  kpsim bench search
  kpsim bench search --seeds 20 --mutants no-quiesce

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// benchSearchCmd is kpsim bench search.
type benchSearchCmd struct{ bench.Search }

// Help implements kong.HelpProvider.
func (*benchSearchCmd) Help() string {
	return `Prints whole schedules a second of safe-none, then for each mutant, and for a bug that needs three CPUs in one window of three instructions, how many schedules each strategy takes to the first violation: the median over the seeds. "portfolio/best" is the portfolio's median divided by that of the best other strategy, and its upper 95 % bound by the bootstrap, of 5 seeds or more. The medians are the same each time; the speeds are those of this machine, now.

Examples:

  kpsim bench search
  kpsim bench search --seeds 20 --time 0s --mutants no-grace,cancel-rcu
  kpsim bench search --seed 1000 --mutants cancel-rcu
  kpsim bench search --json

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
