package kprobes

// specElsewhere are the rules that are held outside TestSpec, mostly by a monitor
// that watches every schedule of a search.
var specElsewhere = []specHeld{
	{
		rule: "4.6", says: "no CPU or task stands in the region when the jump is written", in: []Edition{Edition69},
		test: "properties/mutant.TestMutants", mutants: []string{"no-quiesce"},
	},
	{
		rule: "4.7", says: "the hazard is found where nobody waits", in: []Edition{Edition69},
		test: "properties/harness.TestCorpus", mutants: []string{"no-quiesce"},
	},
	{
		rule: "6.7", says: "after unregister no handler runs", in: []Edition{Edition69},
		test: "properties/mutant.TestMutants", mutants: []string{"no-grace"},
	},
}
