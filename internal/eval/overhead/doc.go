// Package overhead says what probes cost: the documents' figures, from what happens in
// a simulated hit, and what each part of them is of.
//
// What it is: a machine's costs (Machine, Model), fitted to the documents' figures in
// two ways; a hit (Probe.Measure), which is the difference between runs of a scenario;
// and what is to be read from both.
//
// What it is not: a model of the machine. What happens in a hit is what the engine, the
// kernel and the CPUs under it do in a run; nothing here says how many exceptions a
// kprobe takes.
//
// Its rule: a figure is the sum of what happened in a run. A cost comes with where it is
// from: fitted, typical of its processor by the literature, or assumed.
//
// With many probes a lookup walks a chain, in a run of as many; with many CPUs they wait
// for each other in one. What caches make of a chain isn't simulated: Cache is an assumption
// beside the run.
//
// Its limits: the figures were taken in tight loops with warm caches; so are ours. ppc64
// has no engine here: its profile prices what the x86_64 one does. The
// figures of 2005 are of a kernel with one lock for all probes, held across a hit; the
// engine's oldest edition is younger, and that lock is in the price of a step and of a
// trampoline's hit. On many CPUs a cell that they share costs what its line of cache
// does, which each cell has to itself: which share one isn't known. That wasn't
// measured on these machines, and all CPUs are equally far from each other.
package overhead
