package main

import "kpsim/internal/eval/overhead/pages"

// overheadProbesCmd is kpsim overhead probes.
type overheadProbesCmd struct{ pages.Probes }

// Help implements kong.HelpProvider.
func (*overheadProbesCmd) Help() string {
	return `The kernel finds a probe in a table of 64 hash chains. Printed is what a hit costs with so many, on functions 16 to 256 bytes apart, and how many nodes of chains it looks at: if one probe is hit over and over, that was registered in the middle, or if all are in turn, so that caches don't hold them. A jump needs no lookup.

Examples:

  kpsim overhead probes
  kpsim overhead probes --probe k,b,o --count 1,64,4096
  kpsim overhead probes --machine pentium-m/i386
  kpsim overhead probes --json | jq 'select(.all_probes_hit_cycles > 2 * .one_probe_hit_cycles)'

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}
