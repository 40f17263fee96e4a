package main

import "kpsim/internal/verbs/findings"

// compareCmd is kpsim compare.
type compareCmd struct{ findings.Compare }

// Help implements kong.HelpProvider.
func (*compareCmd) Help() string {
	return `A change of a kernel's engine, compiled (--objects) or put into its machine code (--mutant), is compared with the kernel as it is and with the rules, in two ways.

Answers: of each scenario a serial program is made, in which one task does what all do, and more programs are drawn. No schedule decides anything in these, so all that they answer must be the same as on kpsim's own engine, which is written after the rules: what each call returns, each handler's registers, what calls leave, the missed hits, kprobes/list, the text. Told are programs that the changed kernel answers neither by the rules nor as the kernel without the change.

Schedules: each scenario is searched with the change. What is broken is told if the kernel as it is doesn't break it in four times as many runs, or far less often. Witnesses are shrunk and written to traces/.

Without a change only the answers of the kernel as it is are compared with the rules. What is known to differ is on the page docs/two-engines.md.

Examples:

  kpsim compare --kernel vmlinuz --objects kprobes.o
  kpsim compare --kernel vmlinuz --objects kprobes.o,opt.o --runs 3000 safe-full return-probes
  kpsim compare --kernel vmlinuz --mutant skip-call:kprobe_optimizer:synchronize_rcu_tasks:1
  kpsim compare --kernel vmlinuz --programs 1000 --seed 7

Exit status: 0 the change does nothing else, 1 it does, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}
