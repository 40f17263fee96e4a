package main

import "kpsim/internal/findings"

// stormCmd is kpsim storm.
type stormCmd struct{ findings.Storm }

// Help implements kong.HelpProvider.
func (*stormCmd) Help() string {
	return `A storm is a program that is drawn: up to three tasks register, unregister, disable and enable kprobes with and without post_handlers, return probes and, under 2.6, jprobes, at f+0 to f+8 of a function or two, write the sysctl and kprobes/enabled, flip a jump label and load a module, while tasks on 2 to 6 CPUs run these functions and are interrupted. Each program is run under so many schedules, and no schedule may break any property.

A line says of an edition and a model of preemption how many programs and schedules were run, in which share of the schedules a jump was written in a function while a task was in a call of it, and which properties were broken. Of the first program that broke one the witness is shrunk and written to traces/NAME.kps.

Examples:

  kpsim storm
  kpsim storm --runs 1000000
  kpsim storm --edition 4.15 --preempt full --seed 7
  kpsim storm --edition 6.9 --preempt none --mutant no-sync-disarm
  kpsim storm --edition 6.9 --preempt none --seed 7 --print > storm.star

Exit status: 0 nothing was broken, 1 something was, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}
