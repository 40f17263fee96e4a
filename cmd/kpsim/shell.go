package main

import "kpsim/internal/verbs/shell"

// shellCmd is kpsim shell.
type shellCmd struct{ shell.Shell }

// Help implements kong.HelpProvider.
func (*shellCmd) Help() string {
	return `Opens a machine that stands still, and does what is typed, or what a script on standard input says: call functions, register probes, read and write the files of kprobes, step, look at text and registers; stop at breakpoints (break, watch), go back (back, goto), and filter what is printed (dmesg | tail -3). help lists the commands, help COMMAND shows an example. At a terminal Tab completes, ^R looks in the history, ^C ends the command that runs, ^D the session. The tasks of a scenario begin when run says so. The machine of a trace goes along the trace's schedule with step and run, to the end of its run. What properties say of the end of a run they say where nothing can move any more and the session, or the trace, is at its end.

Examples:

  kpsim shell safe-full
  kpsim shell --seed 7 safe-full
  kpsim shell --edition 6.9 --as-shipped return-nmi
  kpsim shell traces/torn-jump.kps
  echo 'call victim 3 5' | kpsim shell safe-full
  printf 'break T1\nrun\nback 3\n' | kpsim shell traces/torn-jump.kps

In a script a line that can't be understood ends it; what the kernel refuses (-EINVAL) is an answer.

Exit status: 0, 1 a property was broken, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
