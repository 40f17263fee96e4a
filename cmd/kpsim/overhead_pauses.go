package main

import "kpsim/internal/eval/overhead/pages"

// overheadPausesCmd is kpsim overhead pauses.
type overheadPausesCmd struct{ pages.Pauses }

// Help implements kong.HelpProvider.
func (*overheadPausesCmd) Help() string {
	return `A probe is registered, optimized and unregistered on CPU 0 while the other CPUs call its function over and over. Printed is how long whom that keeps waiting, in each of the runs:

  stop_machine arrives   from its request until a CPU is in its stopper
  stop_machine stopped   from there until the CPU is let go
  stop_machine in all    both
  sync_core in all       from the sending of its IPIs until the last CPU has serialised
  sync_core interrupt    what one of these CPUs is interrupted for
  register to jump       from the call that registers the probe until its jump is written
  optimizer to jump      from when the optimizer's timer fires until then

What that timer takes, 5 jiffies, and what the kernel waits between two looks for the end of a grace period is in none of them.

Examples:

  kpsim overhead pauses
  kpsim overhead pauses --cpus 2,16,64 --patch stop_machine --preempt none,full
  kpsim overhead pauses --schedule sticky --runs 200 --seed 7
  kpsim overhead pauses --json | jq '.stop_machine_request_to_end.p99_cycles / .mhz'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
