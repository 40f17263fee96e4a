package main

import "kpsim/internal/verbs/findings"

// fuzzCmd is kpsim fuzz.
type fuzzCmd struct{ findings.Fuzz }

// Help implements kong.HelpProvider.
func (*fuzzCmd) Help() string {
	return `Whole programs are drawn: a machine of any edition or of none, with settings changed one by one; functions made of drawn instructions, beside those of the library; probes of every kind at any of their bytes; handlers, tasks, modules, tracers, labels and interrupts. What is drawn is sound, so that no schedule may break any property. Each program is run under a few schedules, and under more as long as these show something new: an event after another, an order of two CPUs, an instruction that is probed, of a kernel a basic block. A program that shows something new is kept, and others are made from it: with some parts drawn anew, or plainer, or taken from another program.

A line for each edition says in which share of the schedules, of those on machines that optimize kprobes, a kprobe was optimized while a task was in a call of its function, and what was broken. Of each property that was broken the first program's witness is shrunk and written to traces/NAME.kps, and the program's recipe beside it.

With --kernel a kernel's own engine runs the programs.

Examples:

  kpsim fuzz
  kpsim fuzz --for 1h --corpus corpus
  kpsim fuzz --kernel vmlinuz --unreached
  kpsim fuzz --edition 4.15 --preempt full --runs 10000
  kpsim fuzz --mutant no-sync-disarm
  kpsim fuzz --seed 7 --print > drawn.star

Exit status: 0 nothing was broken, 1 something was, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}
