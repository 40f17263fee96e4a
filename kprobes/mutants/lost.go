package mutants

// Unchecked are mutants that remove a check which stands for an order. They aren't in All: searches that draw
// schedules find them too seldom.
var Unchecked = []Mutant{
	{Name: "objpool-unchecked", Source: "d67f39d2b81b, 6.7-rc", Scenario: "order-rings", Property: "instances",
		Says:  "a call takes an instance from an empty array, if it reads an old count of filled entries",
		Apply: on(objpoolUnchecked)},
}

// A Lost is an order that Linux lacked once, or had to put in: the mutant that loses it
// here, of Barriers or one that leaves a check out, and the smallest scenario of the library
// in which that shows.
type Lost struct {
	Mutant     string
	Model      string // memory: "tso" or "lkmm"
	Scenario   string
	Property   string // the property that notices
	Deviations int    // the most deviations of the schedules with which verify finds it
	Long       bool   // a test of that many schedules takes long
}

// LostOrders are the orders that Linux lacked and whose subsystem is here. docs/memory.md describes them.
var LostOrders = []Lost{
	{"drop-text-poke-publish-before-int3", "lkmm", "order-label", "owned-breakpoint", 3, false},
	{"drop-int3-hit-before-reading", "lkmm", "order-label", "owned-breakpoint", 3, false},
	{"drop-text-poke-retire-before-counting", "tso", "order-batch", "no-oops", 3, false},
	{"drop-int3-hold-before-reading", "lkmm", "order-batch", "no-oops", 4, true},
	{"drop-text-poke-all-before-the-text", "lkmm", "order-grace", "owned-breakpoint", 3, false},
	{"drop-rcu-act-before-waiting", "lkmm", "order-grace", "after-unregister", 4, false},
	{"drop-cpus-read-count-before-looking", "lkmm", "order-hotplug", "locks", 4, true},
	{"drop-cpus-write-block-before-counting", "tso", "order-hotplug", "locks", 5, false},
	{"objpool-unchecked", "lkmm", "order-rings", "instances", 4, true},
	{"drop-worker-clear-before-working", "tso", "order-work", "right-result", 3, false},
	{"drop-stop-machine-step-before-waking", "tso", "stop-machine-stale", "progress", 2, true},
}
