// Package overhead computes what probes cost: the documents' figures, from the events of a simulated hit, and the
// share of each part.
//
// What it is: a machine's costs (Machine, Model), fitted to the documents' figures in two ways; a hit
// (Probe.Measure), which is the difference between runs of a scenario; and the results of both.
//
// What it is not: a model of the machine. The events of a hit are those of the engine, the kernel and the CPUs in a
// run; nothing here states how many exceptions a kprobe takes.
//
// Its rule: a figure is the sum of the events of a run. A cost comes with its source: fitted, typical of its
// processor by the literature, or assumed.
//
// With many probes a look-up walks a chain, in a run with that many; with many CPUs they wait for each other in a
// run. The caches' effect on a chain isn't simulated: Cache is an assumption besides the run.
//
// Its limits: the figures were taken in tight loops with warm caches; so are ours. ppc64's
// are of the document's edition of 2005, big-endian, where our engine is of ppc64le: all is stepped by MSR.SE, return
// probes return to a probed nop, a jprobe keeps no stack. How many instructions its kernel executes wasn't counted: an
// exception's entry is put at 65, the rest at x86_64's, and a copy of its registers, 44 words, at two blocks. The
// figures of 2005 are of a kernel with one lock for all probes, held
// across a hit; the engine's oldest edition is younger, and that lock is in the price of a step and of a trampoline's
// hit. On many CPUs a shared cell costs what its cache line does, and each cell has a line of its own: which cells
// share one isn't known. That wasn't measured on these machines, and all CPUs are equally far from each other.
package overhead
