package mutants

import "kpsim/kprobes/kpev"

// events are mutants of event delivery by other ways than IDT and IRET. They come last, so that tests which draw for
// each mutant in turn draw the same as before for the others.
var events = []Mutant{
	{Name: "copies-unsynced", Source: "M57; every kernel, where returns don't serialise", Scenario: "fred-detour",
		Property: "whole-instructions",
		Also:     []string{"right-result"},
		Says:     "kprobes doesn't sync after writing a slot or a detour",
		Apply:    SkipSync(kpev.SyncCopy)},
	{Name: "hotplug-unlocked", Source: "stop_machine_cpuslocked without cpus_read_lock", Scenario: "cpu-comes-amid",
		Property: "no-sail-past",
		Also:     []string{"owned-breakpoint"},
		Says:     "the engine doesn't take the CPU-hotplug lock",
		Apply:    func(w *Wiring) { w.Deps.Hotplug = unplugged{} }},
	{Name: "idle-unseen", Source: "dyntick_save_progress_counter", Scenario: "nohz-idle", Property: "no-stall",
		Also:  []string{"progress"}, // if no tick comes in time
		Says:  "a grace period doesn't check whether a CPU idles, and waits until it has been active",
		Apply: func(w *Wiring) { w.Kernel.RCU.Unseen = true }},
	{Name: "alternative-open", Source: "2dc419613805, 4.2 to 6.6", Scenario: "alternatives-boot",
		Property: "whole-instructions",
		Says:     "alternatives are copied into text with interrupts on",
		Apply:    func(w *Wiring) { w.Kernel.Alternatives.Open = true }},
	{Name: "alternative-unsynced", Source: "3ea1704a9296, 4.2 to 6.6", Scenario: "alternatives-boot",
		Property: "whole-instructions",
		Says:     "interrupts are on again before the CPU that has copied an alternative serialises",
		Apply:    func(w *Wiring) { w.Kernel.Alternatives.Unsynced = true }},
}

// hotplugs are mutants of CPU hotplug, and of a wait under a lock. They come last for the same reason.
var hotplugs = []Mutant{
	{Name: "callbacks-lost", Source: "rcutree_migrate_callbacks", Scenario: "callbacks-adopted", Property: "progress",
		Says:  "callbacks of RCU queued on a CPU that goes offline stay there",
		Apply: func(w *Wiring) { w.Kernel.RCU.Orphans = true }},
	{Name: "dead-awaited", Source: "rcutree_report_cpu_dead", Scenario: "grace-after-death", Property: "progress",
		Also:  []string{"no-stall"}, // if a tick comes in time
		Says:  "a CPU that goes offline doesn't report it to RCU: grace periods wait for it",
		Apply: func(w *Wiring) { w.Kernel.RCU.Deadly = true }},
	{Name: "came-unseen", Source: "rcutree_report_cpu_starting", Scenario: "grace-after-start",
		Property: "no-start-inside", Also: []string{"after-unregister"},
		Says:  "a CPU that comes online doesn't report it to RCU: grace periods don't wait for it",
		Apply: func(w *Wiring) { w.Kernel.RCU.Newcomer = true }},
	{Name: "worker-bound", Source: "workqueue_offline_cpu", Scenario: "optimizer-moves", Property: "progress",
		Says:  "workers stay bound to a CPU that goes offline, together with their works",
		Apply: func(w *Wiring) { w.Kernel.Hotplug.Bound = true }},
	{Name: "timer-left", Source: "timers_dead_cpu", Scenario: "optimizer-moves", Property: "progress",
		Says:  "timers of delayed works on a CPU that goes offline stay there",
		Apply: func(w *Wiring) { w.Kernel.Work.Keeps = true }},
	{Name: "wait-under-text", NeedsJump: true, Source: "kprobe_optimizer, text_mutex held for a whole run",
		Scenario: "stall-lock", Property: "progress",
		Also:  []string{"no-stall"}, // if a tick comes before the run stops making progress
		Says:  "the optimizer holds text_mutex while it waits for a grace period",
		Apply: waitUnderText},
}

// rollbacks are mutants of a CPU whose going or coming fails, and of state kept for a CPU that has gone. They come
// last for the same reason.
var rollbacks = []Mutant{
	{Name: "refused-late", Source: "native_cpu_disable", Scenario: "cpu-refuses", Property: "no-sail-past",
		Also:  []string{"owned-breakpoint"},
		Says:  "a CPU has left the online set when it fails to go offline, and gets no sync",
		Apply: func(w *Wiring) { w.Kernel.Hotplug.Late = true }},
	{Name: "failure-untold", Source: "04e613ded8c2, arm64, 5.10-rc", Scenario: "cpu-fails-to-come",
		Property: "progress",
		Says: "a CPU that fails to come online doesn't report to RCU that it is gone again: grace periods wait " +
			"for it",
		Apply: func(w *Wiring) { w.Kernel.Hotplug.Untold = true }},
	{Name: "left-inactive", Source: "cpuhp_reset_state", Scenario: "cpu-stays", Property: "progress",
		Says:  "a CPU that stays, because a step of its going has failed, isn't made active again",
		Apply: func(w *Wiring) { w.Kernel.Hotplug.Idles = true }},
	{Name: "ring-gone", Source: "objpool_pop, cpu_possible_mask", Scenario: "ring-of-the-gone", Property: "instances",
		Says:  "a call searches for a free instance only in the arrays of online CPUs",
		Apply: onlineRings},
}
