package main

import "kpsim/internal/eval/review"

// reviewCmd is kpsim review.
type reviewCmd struct{ review.Review }

// Help implements kong.HelpProvider.
func (*reviewCmd) Help() string {
	return `A change of a kernel's engine is run beside the kernel without it, and what only one of them does is told: for the review of a patch.

Both sides run the same: the built-in scenarios that a kernel can run, --runs of each; programs that are drawn, with schedules and as serial ones, whose answers are compared with the rules; what is kept in a folder (--corpus). Told are

  verdicts      properties that only one side breaks, with witnesses
  behaviours    what only one side answers, or leaves
  code          functions that differ, new and gone ones, new calls
  coverage      in how many runs the changed lines were reached
  costs         instructions, lines of cache, cycles of each hit and call

The change is compiled: --objects with --kernel, or two kernels with --before. Nothing is built here; scripts/kernel-objects does that. With --patch the lines of the patch are looked for, else what is new in machine code.

--before-program compares two kpsims that were built from two checkouts, by their own engines in Go: each is asked for --json. If the changed one was built with go build -cover, --patch says how often its lines were executed.

What only one side shows is looked for on the other in four times as many runs, sixty-four if it is rare.

Examples:

  kpsim review --kernel vmlinuz --objects kernel/kprobes.o
  kpsim review --kernel vmlinuz --objects kprobes.o --patch my.patch --html review.html
  kpsim review --kernel vmlinuz --objects kprobes.o --markdown > mail.txt
  kpsim review --before vmlinuz-6.1 --kernel vmlinuz-6.12 --runs 1000
  kpsim review --kernel vmlinuz --objects new.o --before-objects old.o full-rcu
  kpsim review --before-program ./kpsim-before --patch my.patch
  kpsim review --kernel vmlinuz --objects kprobes.o --json | jq 'select(.what == "gained")'

Exit status: 0 nothing is worse, 1 a verdict was gained, a program is answered otherwise than by the rules, or a hit is dearer by more than --slower, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}
