package mutants

import "kpsim/kprobes/kpev"

// events are mutants of what matters where events come and go in other ways than by IDT
// and IRET. They stand last, so that tests which go through all draw for the others what
// they always drew.
var events = []Mutant{
	{Name: "copies-unsynced", Source: "M57; every kernel, where returns don't serialise", Scenario: "fred-detour", Property: "whole-instructions",
		Also:  []string{"right-result"},
		Says:  "kprobes doesn't sync after writing a slot or a detour",
		Apply: SkipSync(kpev.SyncCopy)},
	{Name: "hotplug-unlocked", Source: "stop_machine_cpuslocked without cpus_read_lock", Scenario: "cpu-comes-amid", Property: "no-sail-past",
		Also:  []string{"owned-breakpoint"},
		Says:  "the engine doesn't take the CPU-hotplug lock",
		Apply: func(w *Wiring) { w.Deps.Hotplug = unplugged{} }},
	{Name: "idle-unseen", Source: "dyntick_save_progress_counter", Scenario: "nohz-idle", Property: "no-stall",
		Also:  []string{"progress"}, // where no tick comes in time
		Says:  "a grace period doesn't look whether a CPU idles, and waits until it has done something",
		Apply: func(w *Wiring) { w.Kernel.RCU.Unseen = true }},
	{Name: "alternative-open", Source: "2dc419613805, 4.2 to 6.6", Scenario: "alternatives-boot", Property: "whole-instructions",
		Says:  "alternatives are copied into text with interrupts on",
		Apply: func(w *Wiring) { w.Kernel.Alternatives.Open = true }},
	{Name: "alternative-unsynced", Source: "3ea1704a9296, 4.2 to 6.6", Scenario: "alternatives-boot", Property: "whole-instructions",
		Says:  "interrupts are on again before the CPU that has copied an alternative serialises",
		Apply: func(w *Wiring) { w.Kernel.Alternatives.Unsynced = true }},
}
