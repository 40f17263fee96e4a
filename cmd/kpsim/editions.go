package main

import "kpsim/internal/verbs/catalogue"

// editionsCmd is kpsim editions.
type editionsCmd struct{ catalogue.Editions }

// Help implements kong.HelpProvider.
func (editionsCmd) Help() string {
	return `An edition is one of the kernel's own documents on probes, and the kernels of its time; machine(edition = "4.15") sets all that the table lists, and machine(edition = "4.15", boost = "never") all but one. The first column is the word of machine() that sets a line by itself. Where what holds depends on the build, it is A/B: A built without preemption (preempt = "none" or "voluntary"), B with (dynamic, full, lazy).

Every edition is on the repaired algorithm. What we know its kernels to have done wrong comes back with --as-shipped (explore, verify, fuzz, run, shell), which lists it.

Examples:

  kpsim editions
  kpsim editions --json

Exit status: 0, or 2 for bad input.`
}
