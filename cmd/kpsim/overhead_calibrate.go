package main

import "kpsim/internal/eval/overhead/pages"

// overheadCalibrateCmd is kpsim overhead calibrate.
type overheadCalibrateCmd struct{ pages.Calibrate }

// Help implements kong.HelpProvider.
func (*overheadCalibrateCmd) Help() string {
	return `Fits costs to figures of your own and prints them as a file that kpsim overhead --profile reads. The columns:

  machine  its name; those of one name (in i386 and x86_64, say) are taken to be one core
  arch     i386, x86_64, or with era 2.6 ppc64
  mhz      its clock
  era      2.6 or 4.15: which probes there are (j, kr, jr; or b, o, rb, ro), and whose kernel code
  probe    k, b, o, r, rb, ro; j, kr, jr
  usec     microseconds that a hit takes: a call with the probe less one without

Arch and era decide whose instructions are counted, and what locks and mispredictions typically cost: those of the documents' machine with the same two. The rest is fitted. A comment at each cost says where it is from.

Examples:

  kpsim overhead calibrate mine.csv > mine.profile
  kpsim overhead calibrate --machine my-box/x86_64 mine.csv
  kpsim overhead --profile mine.profile

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}
