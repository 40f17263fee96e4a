package kprobes

import (
	"kpsim/kprobes/rules"
)

// specElsewhere are the rules that are held outside TestSpec, mostly by a monitor
// that watches every schedule of a search.
var specElsewhere = []specHeld{
	{
		rule: "4.6", says: "no CPU or task stands in the region when the jump is written",
		in:   []rules.Edition{rules.Edition69},
		test: "internal/search/mutantsearch.TestMutants", mutants: []string{"no-quiesce"},
	},
	{
		rule: "4.7", says: "the hazard is found where nobody waits", in: []rules.Edition{rules.Edition69},
		test: "internal/search.TestCorpus", mutants: []string{"no-quiesce"},
	},
	{
		rule: "6.7", says: "after unregister no handler runs", in: []rules.Edition{rules.Edition69},
		test: "internal/search/mutantsearch.TestMutants", mutants: []string{"no-grace"},
	},
	{
		rule: "8.1", says: "the mode decides whether an interrupt's return switches tasks",
		test: "smp/kernel.TestPreemption", none: "every mode is in its table, and each differs from another",
	},
	{
		rule: "8.1", says: "lazy: who wants the CPU waits for the next tick", in: []rules.Edition{rules.Edition69},
		test: "smp/kernel.TestLazy", none: "full, in the same test, does otherwise",
	},
	{
		rule: "9", says: "x86_64: all rows of this document",
		test: "kprobes.TestSpec", none: "each row has its own",
	},
	{
		rule: "9", says: "i386: all rows of TestSpec in this document, each with its mutants but those of the probe on the trampoline",
		test: "kprobes.TestSpecElsewhere", none: "each row has its own",
	},
	{
		rule: "9", says: "i386: its instructions and traps",
		test: "smp.TestMode32", none: "the processor beside it is compared with it (smp/arch/x86/native)",
	},
	{
		rule: "9", says: "riscv64, arm64, ppc64le: the rows of TestSpec that have their columns, each with its mutants",
		in: []rules.Edition{rules.Edition69}, test: "kprobes.TestSpecElsewhere", none: "each row has its own",
	},
	{
		rule: "9", says: "ppc, ia64, sparc64, arm, mips, s390, parisc, loongarch, riscv of 32 bits",
		none: "not simulated: their code isn't executed",
	},
	{
		rule: "10.1", says: "microseconds",
		none: "not held: time is counted in events here, and no processor's costs are calibrated",
	},
	{
		rule: "10.2", says: "the 27 figures, each from what happens in a hit of the engine of its architecture",
		test: "internal/eval/overhead.TestTiers",
		none: "each event moves some figure (TestEachEventCounts, beside it), and the exceptions of each hit are counted (TestExceptions)",
	},
	{
		rule: "11", says: "user-space probes and watchpoint probes",
		none: "not simulated: the documents don't have them either",
	},
}
