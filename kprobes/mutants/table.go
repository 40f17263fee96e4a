package mutants

import (
	"kpsim/engine/ftrace"
	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// Wiring is what a mutant may rewire, before the engine is built for a run.
type Wiring struct {
	Kernel *kernel.Kernel
	Ftrace *ftrace.Ftrace
	Deps   *kprobes.Deps // of the engine; Patch is also what jump labels use
	Engine *kprobes.Settings

	Edition rules.Edition // of the scenario, if it has one: for AsShipped
}

// A Mutant is one fault put in on purpose.
type Mutant struct {
	Name     string
	Says     string
	Source   string   // the row of history it brings back, or the step it breaks
	Scenario string   // where it shows
	Property string   // and which property must notice
	Also     []string // properties that may notice first, since the step serves them too
	Releases string   // of a fault of Shipped: from the commit that brought it to the last before the one that mended it, as studied
	Apply    func(w *Wiring)

	NeedsJump bool // it shows only where a breakpoint becomes a jump

	// Equivalent says why no property can notice: then Property is the one that would.
	// Nil for all but a few.
	Equivalent *Equivalent
	_          struct{}
}

// Equivalent is why a mutant changes nothing that can be seen in its scenario.
type Equivalent struct {
	Proof       string // in words
	Certificate bool   // every schedule of the scenario can be run, too (verify --full), and shows nothing
}

// MostEquivalent is how many mutants may be marked equivalent.
const MostEquivalent = 5

// All are the mutants, in the order of the protocol they break.
var All = []Mutant{
	{Name: "no-quiesce", NeedsJump: true, Source: "R1, M01", Scenario: "safe-none", Property: "no-start-inside",
		Also:  []string{"no-use-after-free"}, // the same wait stands between taking a jump away and freeing its detour
		Says:  "the optimizer doesn't wait before it writes a jump",
		Apply: on(func(s *steps) { skip2(&s.Quiesce) })},
	// On a kprobe point the first and the last of text_poke_bp's syncs change
	// nothing: the breakpoint has stood there since it was armed, and synced, and
	// the probe owns every late trap on it (TestEquivalentOnKprobes). A raw
	// site shows them.
	{Name: "no-sync-1", Source: "M16", Scenario: "jump-label-flip", Property: "whole-instructions",
		Says:  "text_poke_bp doesn't sync after the breakpoint",
		Apply: SkipSync(smpev.SyncPoke1)},
	{Name: "no-sync-2", Source: "M17", Scenario: "jump-label-flip", Property: "whole-instructions",
		Says:  "text_poke_bp doesn't sync after the tail",
		Apply: SkipSync(smpev.SyncPoke2)},
	{Name: "no-sync-3", Source: "M18", Scenario: "jump-label-flip", Property: "owned-breakpoint",
		Says:  "text_poke_bp doesn't sync after the head",
		Apply: SkipSync(smpev.SyncPoke3)},
	{Name: "no-sync-arm", Source: "R3, M03", Releases: "until 5.5", Scenario: "no-sail-past", Property: "no-sail-past",
		Says:  "kprobes doesn't sync after writing the breakpoint",
		Apply: SkipSync(kpev.SyncArm)},
	{Name: "no-sync-disarm", Source: "R4, M04", Scenario: "no-sail-past", Property: "owned-breakpoint",
		Says:  "kprobes doesn't sync after taking the breakpoint away",
		Apply: SkipSync(kpev.SyncDisarm)},
	{Name: "no-sync-unopt", NeedsJump: true, Source: "R3", Scenario: "torn-jump-bp", Property: "whole-instructions",
		Says:  "kprobes doesn't sync between the breakpoint over a jump and the tail behind it",
		Apply: SkipSync(kpev.SyncUnopt1)},
	{Name: "int3-after-tail", Source: "M15", Scenario: "jump-label-flip", Property: "whole-instructions",
		Says: "text_poke_bp writes the tail before the breakpoint",
		Apply: func(w *Wiring) {
			w.Deps.Patch = tailFirst{w.Kernel}
		}},
	{Name: "no-stop", Source: "2.6.34 without its stop_machine", Scenario: "stop-machine-alone", Property: "no-start-inside",
		Says: "text_poke_smp doesn't stop the machine",
		Apply: func(w *Wiring) {
			w.Deps.Patch = kernel.PokeNaive{K: w.Kernel, TailFirst: true}
		}},
	{Name: "stop-without-sync-core", Source: "stop_machine's last step", Scenario: "stop-machine-stale", Property: "whole-instructions",
		Says:  "the stoppers leave without serialising their CPUs",
		Apply: SkipSync(smpev.SyncStop)},
	{Name: "free-early", NeedsJump: true, Source: "R36, M12", Scenario: "register-storm-none", Property: "no-use-after-free",
		Says:  "the optimizer frees detours before it waits",
		Apply: on(freeEarly)},
	// On a breakpoint it changes nothing: handlers run with interrupts off there,
	// so the disarm's own sync waits for them. It shows on a detour's handler.
	{Name: "no-grace", Source: "M38", Scenario: "safe-none", Property: "after-unregister",
		Says:  "unregister doesn't wait for handlers that have found the probe",
		Apply: on(func(s *steps) { skip2(&s.Synchronize) })},
	{Name: "no-restore", Source: "spec 6.7", Scenario: "no-sail-past", Property: "owned-breakpoint",
		Also:  []string{"text-restored"}, // if no CPU traps on it when the probe is gone
		Says:  "disarm leaves the breakpoint in the text",
		Apply: on(func(s *steps) { skip3(&s.RestoreOpcode) })},
	{Name: "if-leak", Source: "M34's sibling", Scenario: "no-sail-past", Property: "transparent",
		Also:  []string{"progress"}, // a CPU that never takes another IPI
		Says:  "the end of a step leaves interrupts off",
		Apply: on(func(s *steps) { skip2(&s.RestoreFlags) })},
	{Name: "jng-and", Source: "x86/kprobes: Fix JNG/JNLE emulation, 5.13 to 5.19", Releases: "5.13 to 5.19", Scenario: "function-at-work", Property: "right-result",
		Also:  []string{"no-oops", "progress"}, // a loop that goes on where it should end
		Says:  "an emulated jng jumps if ZF and SF != OF, where it should if one of them holds",
		Apply: on(jngAnd)},
	{Name: "ignore-sysctl", NeedsJump: true, Source: "spec 7.3", Scenario: "optimization-off", Property: "optimization-off",
		Says:  "jumps are written while kprobes-optimization is 0",
		Apply: on(func(s *steps) { s.AllowOptimization = func(*engine) bool { return true } })},
	{Name: "lost-kick", NeedsJump: true, Source: "R7's effect", Scenario: "safe-none", Property: "progress",
		Says:  "a queued probe doesn't wake the optimizer",
		Apply: func(w *Wiring) { w.Deps.Work = unkicked{w.Deps.Work} }},
	{Name: "stack-regions", NeedsJump: true, Source: "kprobes.txt, footnote 4", Scenario: "stack-check-detour", Property: "no-start-inside",
		Says:  "the look at all stacks knows of regions, as the documents tell it, and not of the detours that lead into them",
		Apply: on(func(s *steps) { skip2(&s.DetourSpans) })},
	{Name: "ignore-extable", Source: "spec 4.2, M55", Scenario: "page-fault-sleeps", Property: "no-start-inside",
		Says:  "a function whose instructions may fault and sleep is optimized",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked = rules.CheckExtable }},
	{Name: "hotplug-last", Source: "R16, until 4.12", Scenario: "hotplug", Property: "locks",
		Says:  "kprobes takes the CPU-hotplug lock under text_mutex",
		Apply: hotplugLast},
	{Name: "hotplug-nested", Source: "R18, 2.6.38-rc", Scenario: "hotplug-stop", Property: "locks",
		Says:  "stop_machine takes the CPU-hotplug lock that its caller has taken",
		Apply: func(w *Wiring) { w.Kernel.Stop.Reads = true }},
	{Name: "flush-locked", Source: "wait_for_kprobe_optimizer", Scenario: "safe-none", Property: "locks",
		Says:  "who waits for the optimizer holds the mutex that it wants",
		Apply: on(flushLocked)},
	{Name: "grace-atomic", Source: "spec 1.13", Scenario: "safe-full", Property: "locks",
		Says:  "grace periods are waited for with preemption off",
		Apply: func(w *Wiring) { w.Deps.RCU = &heldRCU{w.Deps.RCU, false} }},
	{Name: "grace-in-section", Source: "synchronize_rcu under rcu_read_lock", Scenario: "safe-full", Property: "locks",
		Says:  "grace periods are waited for in a read-side section",
		Apply: func(w *Wiring) { w.Deps.RCU = &heldRCU{w.Deps.RCU, true} }},
	{Name: "open-spinlocks", Source: "K2's sibling", Scenario: "return-irq", Property: "locks",
		Also:  []string{"handler-context"}, // interrupts are off in the handlers of such probes
		Says:  "return probes take their locks with interrupts on, and handlers of interrupts return through them",
		Apply: func(w *Wiring) { w.Deps.Locks = openLocks{w.Deps.Locks} }},
	{Name: "cancel-rcu", NeedsJump: true, Source: "__unregister_kprobe_bottom, 4.15 to 6.18", Releases: "4.15 to 6.18", Scenario: "cancel-detour", Property: "no-use-after-free",
		Says:  "a detour whose optimization was cancelled is freed after an RCU grace period, although a preempted task may stand in it",
		Apply: on(func(s *steps) { skip2(&s.SynchronizeTasks) })},
	{Name: "flag-early", NeedsJump: true, Source: "R5, M05; 2.6.38 to 5.5", Scenario: "flag-early", Property: "no-start-inside",
		Also:  []string{"whole-instructions"},
		Says:  "the mark of a jump is taken away before the jump",
		Apply: on(flagEarly)},
	{Name: "boost-post", Source: "R45; 5.13 and later", Releases: "5.13 and later", Scenario: "boosted-post", Property: "post-called",
		Says: "a post_handler that joins a boosted probe is never called",
		Apply: on(func(s *steps) {
			s.StepsBoosted = func(*engine, context, *aggr, bool) bool { return false }
			s.Unboost = func(*engine, context, *aggr) error { return nil }
		})},
	{Name: "enable-lost", Source: "enable_kprobe, 2.6.30 and later", Releases: "2.6.30 and later", Scenario: "globally-off", Property: "no-sail-past",
		Says:  "what is enabled while kprobes/enabled says 0 stays disabled",
		Apply: on(enableLost)},
	{Name: "entry-ignored", Source: "spec 2.4", Scenario: "return-probes", Property: "accounted",
		Also:  []string{"return-pairs"},
		Says:  "a call is followed whatever its entry_handler says",
		Apply: on(entryIgnored)},
	{Name: "disarm-trampoline", Source: "arch_trampoline_kprobe, 2.6.21 and later", Scenario: "trampoline-off", Property: "no-oops",
		Also:  []string{"transparent", "progress"},
		Says:  "kprobes/enabled = 0 disarms the probe on the trampoline, too",
		Apply: on(disarmTrampoline)},
	{Name: "re-register", Source: "R54", Scenario: "return-probes", Property: "answers",
		Also: []string{"instances", "accounted"},
		Says: "what is registered already is registered once more",
		Apply: on(func(s *steps) {
			s.CheckKprobeRereg = func(*engine, context, *kprobe) error { return nil }
			s.CheckKretprobeRereg = func(*kretprobe) error { return nil }
		})},
	{Name: "asked-unlocked", Source: "warn_kprobe_rereg", Scenario: "register-race", Property: "linearizable",
		Says:  "whether a probe is registered already is asked before kprobe_mutex is taken to register it",
		Apply: on(reregUnlocked)},
	{Name: "no-flush", Source: "K14, M47", Scenario: "return-exit", Property: "instances",
		Says:  "a task that ends leaves its calls in flight behind",
		Apply: on(func(s *steps) { skip2(&s.FlushTask) })},
	{Name: "objpool-last", Source: "6.7 to 6.18", Releases: "6.7 to 6.18", Scenario: "return-nmi", Property: "instances", Also: []string{"progress"},
		Says:  "a place in the array of free instances is published before it is filled, if an NMI comes between and gives one back, too",
		Apply: on(objpoolLast)},
	{Name: "lock-in-nmi", Source: "pre_handler_kretprobe, until 3.7", Releases: "until 3.7", Scenario: "return-nmi-locked", Property: "locks", Also: []string{"progress"},
		Says:  "a call in an NMI is followed, under a lock that the NMI may have interrupted the holder of",
		Apply: on(func(s *steps) { s.InNMI = never(s.InNMI) })},
	{Name: "holder-refs", Source: "K7; 5.11 to 5.17", Releases: "5.11 to 5.17", Scenario: "return-storm", Property: "instances",
		Says:  "what the instances of a return probe belong to is freed with the last of them, though unregister still looks at it",
		Apply: holderRefs},
	{Name: "batch-dropped-early", Source: "R26, M20", Scenario: "batch-poke", Property: "owned-breakpoint",
		Says:  "a batch's table of breakpoints is taken back before the last sync",
		Apply: func(w *Wiring) { w.Kernel.Poke.Mutants.DropEarly = true }},
	{Name: "module-kept", Source: "kprobes_module_callback", Scenario: "module-unload", Property: "no-oops",
		Says:  "kprobes isn't told that a module's text goes",
		Apply: moduleKept},
	{Name: "check-unlocked", Source: "check_kprobe_address_safe, 2.6.30 and later", Releases: "2.6.30 and later", Scenario: "module-init", Property: "text-agrees",
		Also:  []string{"no-oops"}, // who arms where there is no text
		Says:  "whether init text may be probed is looked at before kprobe_mutex is taken",
		Apply: on(checkUnlocked)},
	{Name: "handlers-closed", Source: "spec 1.10", Scenario: "globally-off", Property: "handler-context",
		Says:  "handlers behind a detour run with interrupts off, as until 4.14",
		Apply: func(w *Wiring) { w.Engine.DetourIRQsOff = true }},
	{Name: "detour-post", NeedsJump: true, Source: "opt_pre_handler, 2.6.34 and later", Releases: "2.6.34 and later", Scenario: "detour-post", Property: "post-called",
		Says:  "a detour runs the pre_handler of a probe that has joined with a post_handler meanwhile, which no detour runs",
		Apply: on(func(s *steps) { s.DetourSkips = never(s.DetourSkips) })},
	{Name: "mark-kept", NeedsJump: true, Source: "R5's reverse", Scenario: "optimization-off", Property: "text-agrees",
		Says:  "the mark of a jump stays when the jump is taken away",
		Apply: on(func(s *steps) { skip2(&s.ClearOptimized) })},
	{Name: "list-bare", Source: "spec 7.1", Scenario: "switches", Property: "list-agrees",
		Says: "kprobes/list leaves its tags out",
		Apply: on(func(s *steps) {
			s.ListedModule = func(string) string { return "" }
			s.ListedFlags = func(*engine, *aggr, *kprobe) kprobes.Flags { return 0 }
		})},
	{Name: "one-worker", Source: "R14, until 6.19", Scenario: "stack-check", Property: "progress",
		Says:  "the optimizer's worker is that of all works, also of those that it waits for",
		Apply: func(w *Wiring) { w.Kernel.Work.Share() }},
	{Name: "rcu-for-tasks", NeedsJump: true, Source: "R2, M02", Scenario: "safe-full", Property: "no-start-inside",
		Also:  []string{"no-use-after-free"}, // the same wait stands between taking a jump away and freeing its detour
		Says:  "with preemption the optimizer waits for an RCU grace period instead of for all tasks",
		Apply: func(w *Wiring) { w.Engine.Quiesce = kapi.QuiesceRCU }},
	{Name: "tasks-without-grace", Source: "synchronize_rcu_tasks", Scenario: "idle-interrupted", Property: "no-use-after-free",
		Also:  []string{"no-start-inside"}, // the same wait stands before a jump is written
		Says:  "a wait for all tasks has no grace periods around it, which wait for who is no task: a handler on an idle CPU",
		Apply: func(w *Wiring) { w.Kernel.RCU.Bare = true }},
	{Name: "labels-last", Source: "R17, M51; 2.6.37-rc", Scenario: "lock-orders", Property: "locks",
		Says:  "to register a probe kprobes takes jump_label_mutex under text_mutex",
		Apply: labelsLast},
	{Name: "modules-last", Source: "R15, M51; until 5.2", Scenario: "lock-orders", Property: "locks",
		Says: "ftrace takes module_mutex under text_mutex, which the optimizer takes under it",
		Apply: func(w *Wiring) {
			w.Engine.Order = era.OrderModule // of those days
			w.Ftrace.TextRW = true
		}},
	{Name: "no-ref-wait", Source: "R28, R31", Scenario: "batch-beside-probe", Property: "no-oops",
		Says:  "text_poke_bp uses a batch's table again while a handler may hold it",
		Apply: func(w *Wiring) { w.Kernel.Poke.Mutants.NoRefWait = true }},
	{Name: "publish-late", Source: "M19", Scenario: "jump-label-flip", Property: "owned-breakpoint",
		Says:  "text_poke_bp says what it writes when the breakpoint is there already",
		Apply: func(w *Wiring) { w.Deps.Patch = lateDesc{w.Kernel} }},
	{Name: "unsorted-batch", Source: "R29, M21", Scenario: "batch-poke", Property: "owned-breakpoint",
		Says:  "a batch of text_poke_bp isn't cut where its addresses aren't in order, by which its breakpoints are looked up",
		Apply: func(w *Wiring) { w.Kernel.Poke.Mutants.Unsorted, w.Kernel.Poke.Mutants.Backwards = true, true }},
	// Without a sync after the disarm: with one, no CPU looks so late.
	{Name: "byte-first", Source: "R32, M22; until 2.6.33", Releases: "until 2.6.33", Scenario: "no-sail-past", Property: "owned-breakpoint",
		Says:  "whether a breakpoint is still there is looked at before it is looked up whose it is",
		Apply: byteFirst},
	{Name: "saved-armed", Source: "M25", Scenario: "no-sail-past", Property: "owned-breakpoint",
		Also:  []string{"text-restored"}, // if no CPU traps on it when the probe is gone
		Says:  "the original byte is saved when the breakpoint is there already",
		Apply: saveArmed},
	{Name: "hidden-first", Source: "M37", Scenario: "no-sail-past", Property: "owned-breakpoint",
		Says:  "a probe is taken out of the table before its breakpoint is taken out of the text",
		Apply: on(hideFirst)},
	{Name: "swap-in-two", Source: "M39", Scenario: "boosted-post", Property: "accounted",
		Says:  "when a probe joins others, or leaves them, a CPU that comes by meanwhile finds none",
		Apply: on(func(s *steps) { swapInTwo(&s.PublishProbes) })},
	{Name: "shared-no-grace", Source: "M40", Scenario: "ftrace-probe", Property: "after-unregister",
		Says:  "unregister doesn't wait for handlers as long as other probes stay at the address",
		Apply: on(sharedNoGrace)},
	{Name: "boost-preempt", Source: "R36b, M13", Scenario: "cancel-detour", Property: "no-use-after-free",
		Says: "slots are boosted with preemption, too, and freed after an RCU grace period",
		Apply: func(w *Wiring) {
			w.Engine.Kernel.Optprobes = false // of those days; a detour is waited for longer
			w.Engine.Boost = era.BoostPrepare
			w.Steps().BoostEnabled = func(*engine) bool { return true }
		}},
	{Name: "fault-in-copy", Source: "spec 1.3", Scenario: "fault-in-copy", Property: "owned-breakpoint",
		Also:  []string{"right-result", "no-oops"},
		Says:  "an instruction that faults while it is stepped is taken for the copy, which no table knows",
		Apply: on(func(s *steps) { skip2(&s.RewindIP) })},
	{Name: "rip-kept", Source: "M35", Scenario: "handlers-at-work", Property: "right-result",
		Says:  "an instruction that is relative to itself is copied as it is",
		Apply: on(func(s *steps) { s.RunsAt = func(ap *aggr, _ arch.Addr) arch.Addr { return ap.Addr() } })},
	{Name: "rip-of-buffer", Source: "M36", Scenario: "handlers-at-work", Property: "right-result",
		Says:  "an instruction that is relative to itself is relocated to where it was put together",
		Apply: on(func(s *steps) { s.RunsAt = func(_ *aggr, at arch.Addr) arch.Addr { return at + 152 } })},
	{Name: "missed-by-point", Source: "R58, M41", Scenario: "handlers-at-work", Property: "accounted",
		Says:  "a hit inside a handler is counted for the address, and not for its probes, where there are several",
		Apply: on(missedByPoint)},
	{Name: "path-ignored", Source: "M42", Scenario: "handlers-at-work", Property: "right-result",
		Also:  []string{"accounted"}, // the handler after it runs
		Says:  "a pre_handler that has changed the path is ignored",
		Apply: on(ignorePre)},
	{Name: "detour-disabled", NeedsJump: true, Source: "M43", Scenario: "stack-check-detour", Property: "accounted",
		Says:  "a detour runs handlers of disabled probes",
		Apply: on(detourDisabled)},
	{Name: "detour-nested", NeedsJump: true, Source: "M44", Scenario: "handlers-at-work", Property: "transparent",
		Also:  []string{"right-result"},
		Says:  "a detour doesn't look whether its CPU is inside a handler",
		Apply: on(func(s *steps) { s.KprobeRunning = func(*engine, context) bool { return false } })},
	{Name: "hook-first", Source: "K13, M45", Scenario: "return-probes", Property: "return-pairs",
		Also:  []string{"no-oops"},
		Says:  "a return address is replaced before there is an instance to keep it",
		Apply: on(hookFirst)},
	{Name: "ret-addr-kept", Source: "2.6: the real return address is for the first instance only", Releases: "2.6", Scenario: "return-siblings", Property: "return-pairs",
		Says:  "a return handler is told what its own instance has kept, the trampoline where another return probe was first",
		Apply: on(func(s *steps) { skip3(&s.SetRetAddr) })},
	{Name: "ret-addr-lost", Source: "spec 2.6", Scenario: "return-storm", Property: "return-pairs",
		Says:  "a return handler is told that its call returns to the trampoline",
		Apply: on(retAddrLost)},
	{Name: "frame-unchecked", Source: "K4, M50; until 5.0", Releases: "until 5.0", Scenario: "return-frameless", Property: "return-pairs",
		Says:  "a return is taken for that of the newest call, whichever frame it is from",
		Apply: on(func(s *steps) { s.SameFrame = always })},
	{Name: "empty-late", Source: "K5; 2.6.25 to 2.6.35", Releases: "2.6.25 to 2.6.35", Scenario: "return-frameless", Property: "instances",
		Says:  "the list of what the end of a task has to free is emptied when it has been filled",
		Apply: on(func(s *steps) { skip2(&s.FreeFlushed) })},
	{Name: "optimize-disarmed", NeedsJump: true, Source: "M52", Scenario: "switches", Property: "text-agrees",
		Also:  []string{"all-off", "text-restored"},
		Says:  "jumps are written while kprobes/enabled says 0",
		Apply: on(func(s *steps) { s.AllDisarmed = never(s.AllDisarmed) })},
	{Name: "arm-before-clear", Source: "M53", Scenario: "globally-off", Property: "no-sail-past",
		Says:  "kprobes/enabled = 1 arms before it says that nothing is disarmed any more",
		Apply: on(armBeforeClear)},
	{Name: "optimize-post", Source: "M54", Scenario: "detour-post", Property: "unoptimized",
		Also:  []string{"post-called", "accounted"}, // if the jump is hit
		Says:  "a probe with a post_handler becomes a jump, which runs none",
		Apply: on(func(s *steps) { s.HasPostHandler = never(s.HasPostHandler) })},
	{Name: "unscanned-jumps", Source: "spec 4.2, M55", Scenario: "unsafe-regions", Property: "no-start-inside",
		Says:  "a region into which a jump of its function leads is optimized",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked = rules.CheckTargets }},
	{Name: "unscanned-indirect", Source: "spec 4.2, M55", Scenario: "unsafe-regions", Property: "no-start-inside",
		Says:  "a function with an indirect jump, which may lead anywhere in it, is optimized",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked = rules.CheckIndirect }},
	{Name: "past-the-end", Source: "spec 4.2, M55", Scenario: "unsafe-regions", Property: "no-start-inside",
		Says:  "a region that reaches into the next function is optimized",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked = rules.CheckEnd }},
	{Name: "reuse-disabled", Source: "reuse_unused_kprobe, 2.6.38 and later", Releases: "2.6.38 and later", Scenario: "reuse-disabled", Property: "text-restored",
		Says:  "a probe that is registered disabled where a jump is on its way out keeps it, for good",
		Apply: on(reuseDisabled)},
	{Name: "disarm-lost", NeedsJump: true, Source: "disarm_kprobe, 2.6.38 and later", Releases: "2.6.38 and later", Scenario: "switches", Property: "all-off",
		Says:  "what is queued to lose its jump when kprobes/enabled is written 0 keeps its breakpoint",
		Apply: on(func(s *steps) { s.FreedDisarmed = func(_ *engine, ap *aggr) bool { return !s.AggrEnabled(ap) } })},
	{Name: "saved-at-prepare", NeedsJump: true, Source: "arch_prepare_optimized_kprobe", Scenario: "neighbours", Property: "no-start-inside",
		Also:  []string{"text-restored", "owned-breakpoint"},
		Says:  "the bytes under a jump are saved when its detour is made, with the breakpoints that lie there",
		Apply: savedAtPrepare},
	{Name: "retry-lost", NeedsJump: true, Source: "R11; 2.6.38 to 6.19", Releases: "2.6.38 to 6.19", Scenario: "neighbours", Property: "optimized-again",
		Says:  "a probe that was blocked by one which the optimizer disarms isn't tried again",
		Apply: on(func(s *steps) { skip3(&s.OptimizeBlockedLate) })},
	{Name: "cancel-lost", NeedsJump: true, Source: "R6, M06; 5.6-rc", Scenario: "neighbours", Property: "optimized-again",
		Says:  "what is queued to lose its jump and is wanted again loses it all the same",
		Apply: on(func(s *steps) { skip3(&s.CancelUnoptimize) })},
	{Name: "ftrace-by-post", Source: "R53; 6.1, 6.12", Releases: "6.1, 6.12", Scenario: "ftrace-probe", Property: "no-sail-past",
		Says:  "a site is disarmed with the client that it would be armed with now, not the one that it was armed with",
		Apply: on(ftraceByPost)},
	{Name: "no-sync-unopt-2", NeedsJump: true, Source: "R3's sibling", Scenario: "torn-jump-bp", Property: "whole-instructions",
		Says:  "kprobes doesn't sync after the tail that it puts back behind a breakpoint",
		Apply: SkipSync(kpev.SyncUnopt2)},
	{Name: "stop-early", Source: "multi_cpu_stop", Scenario: "stop-machine-alone", Property: "no-start-inside",
		Also:  []string{"whole-instructions"},
		Says:  "stop_machine runs its function before all CPUs are there",
		Apply: func(w *Wiring) { w.Kernel.Stop.Early = true }},
	{Name: "optimized-late", NeedsJump: true, Source: "KPROBE_FLAG_OPTIMIZED", Scenario: "safe-none", Property: "no-start-inside",
		Says:  "a probe is marked as optimized when the wait is over: until then its instruction is stepped",
		Apply: on(optimizedLate)},
	{Name: "never-again", NeedsJump: true, Source: "spec 4.8", Scenario: "neighbours", Property: "optimized-again",
		Says:  "what another probe has blocked isn't optimized when that goes",
		Apply: on(func(s *steps) { skip3(&s.OptimizeBlocked) })},
	{Name: "jump-kept", NeedsJump: true, Source: "spec 6.6", Scenario: "unoptimized", Property: "unoptimized",
		Says:  "the jump of an address whose probes are all disabled stays",
		Apply: on(jumpKept)},
	{Name: "back-off", Source: "kprobe_optimizer", Scenario: "under-load", Property: "returns",
		Says:  "each run of the optimizer waits twice as often as the last",
		Apply: on(backOff)},
	{Name: "grace-idle", Source: "synchronize_rcu", Scenario: "under-load", Property: "returns",
		Says:  "a grace period waits until each CPU has had nothing to do",
		Apply: func(w *Wiring) { w.Kernel.RCU.Idlers = true }},
	{Name: "arm-over", NeedsJump: true, Source: "spec 4.8", Scenario: "neighbours", Property: "text-agrees",
		Says:  "a breakpoint is written into a region while its jump is there",
		Apply: on(func(s *steps) { s.GetOptimizedKprobe = func(*engine, arch.Addr) *aggr { return nil } })},
	{Name: "detour-preempt", NeedsJump: true, Source: "spec 1.10", Scenario: "globally-off", Property: "handler-context",
		Says: "handlers behind a detour run with preemption on",
		Apply: on(func(s *steps) {
			skip1(&s.PreemptDisable)
			skip1(&s.PreemptEnable)
		})},
	{Name: "slot-before-grace", Source: "M12", Scenario: "slot-before-grace", Property: "no-use-after-free",
		Says: "unregister frees the copy of an instruction before it waits for who may step it, and CPUs aren't synchronized",
		Apply: func(w *Wiring) {
			freeFirst(w.Steps())
			SkipSync(kpev.SyncDisarm)(w)
		}},
	{Name: "text-unlocked", Source: "spec 1.12", Scenario: "safe-none", Property: "locks",
		Says:  "kprobes doesn't take text_mutex",
		Apply: func(w *Wiring) { w.Deps.Text = lockless{w.Deps.Text} }},
	{Name: "post-by-list", Source: "aggr_post_handler", Releases: "2.6 and later", Scenario: "post-leaves", Property: "post-called",
		Says:  "a probe that is unregistered where others stay isn't asked any more when an instruction whose pre_handler it ran has been executed",
		Apply: on(postByList)},
	{Name: "post-skipped", Source: "spec 1.3", Scenario: "boosted-post", Property: "post-called",
		Says:  "a breakpoint runs no post_handler",
		Apply: on(func(s *steps) { skip4(&s.AggrPostHandler) })},
	{Name: "missed-uncounted", Source: "spec 1.9", Scenario: "handlers-at-work", Property: "accounted",
		Says:  "a hit inside a handler isn't counted",
		Apply: on(func(s *steps) { skip2(&s.IncNmissed) })},
	{Name: "return-not-hooked", Source: "spec 2.1", Scenario: "return-probes", Property: "accounted",
		Says:  "a return probe leaves the return address on the stack",
		Apply: on(func(s *steps) { skip3(&s.ReplaceReturn) })},
	{Name: "leave-tf", Source: "R41, M34; until 4.6", Scenario: "fault-in-copy", Property: "owned-breakpoint",
		Says:  "an instruction that faults while it is stepped goes on being stepped",
		Apply: on(func(s *steps) { skip1(&s.ClearTF) })},
	{Name: "entry-returns", Source: "spec 2.11", Scenario: "return-probes", Property: "no-oops",
		Says:  "the handler of a return probe's breakpoint says that it has changed the path",
		Apply: on(entryReturns)},
	{Name: "no-regs-copy", Source: "spec 3.1", Scenario: "return-global", Property: "transparent",
		Says:  "a jprobe doesn't keep the registers that its function was called with",
		Apply: on(func(s *steps) { s.JprobeRegs = jprobeKeepsIP })},
	{Name: "no-break", Source: "spec 3.3", Scenario: "return-global", Property: "owned-breakpoint",
		Says:  "the breakpoint of jprobe_return is nobody's",
		Apply: on(func(s *steps) { s.LongjmpBreakHandler = func(*engine, context, arch.Addr, *regs) bool { return false } })},
	{Name: "boost-any", Source: "spec 8.5", Scenario: "boost-room", Property: "right-result",
		Says:  "a jump back is put behind the copy of whatever instruction, also of one that leaves no room for it",
		Apply: on(func(s *steps) { s.CanBoost = func(*engine, *aggr) bool { return true } })},
	{Name: "copy-regs", Source: "spec 1.7", Scenario: "handlers-at-work", Property: "no-start-inside",
		Says:  "handlers are given a copy of the registers, and what they change is lost",
		Apply: on(copyRegs)},
	{Name: "arm-disabled", Source: "spec 6.3", Scenario: "switches", Property: "accounted",
		Says:  "what is registered disabled is enabled all the same",
		Apply: on(func(s *steps) { s.InitFlags = func(*engine, *kprobe) kprobes.Flags { return 0 } })},
	{Name: "run-disabled", Source: "spec 1.8", Scenario: "stack-check-detour", Property: "accounted",
		Says:  "a breakpoint runs handlers of disabled probes",
		Apply: on(runDisabled)},
	{Name: "toggle-any", Source: "spec 6.6", Scenario: "switches", Property: "answers",
		Also:  []string{"no-sail-past"},
		Says:  "what isn't registered can be disabled and enabled",
		Apply: on(toggleAny)},
	{Name: "arm-disarmed", Source: "spec 7.2", Scenario: "globally-off", Property: "all-off",
		Says:  "probes are armed while kprobes/enabled says 0",
		Apply: on(func(s *steps) { s.ArmKprobe = s.ArmKprobeNow })},
	{Name: "detour-stops", NeedsJump: true, Source: "spec 4.10", Scenario: "detour-post", Property: "post-called",
		Also:  []string{"accounted"},
		Says:  "behind a detour a pre_handler that returns non-zero skips those after it",
		Apply: on(detourStops)},
	{Name: "no-module-ref", Source: "R52; until 6.8", Scenario: "module-unload", Property: "no-sail-past",
		Also:  []string{"no-oops", "whole-instructions", "text-agrees"},
		Says:  "a module isn't held while a probe is registered in it",
		Apply: noModuleRef},
	// Equivalent:
	{Name: "kick-unlocked", Source: "R7, M07; 2.6.38 to 5.7", Scenario: "neighbours", Property: "optimized-again",
		Says:       "the optimizer looks whether there is more to do, and starts again, when it has let kprobe_mutex go",
		Apply:      on(kickUnlocked),
		Equivalent: &Equivalent{Proof: "Whoever puts a point on a list holds the mutex, and starts the work himself before he lets it go; a work that runs is no longer pending, so that it runs again. So what comes to a list after the mutex is free is seen to, whatever the look says. What a batch has left is on a list until the look, or somebody with the mutex has taken it off and nothing is left to do. A start too many finds empty lists."}},
	{Name: "no-sync-1-at-probe", Source: "M16", Scenario: "jump-once", Property: "whole-instructions",
		Says:       "text_poke_bp doesn't sync after the breakpoint, where kprobes' own has stood before",
		Apply:      SkipSync(smpev.SyncPoke1),
		Equivalent: &Equivalent{Certificate: true, Proof: "The breakpoint has stood there since the probe was armed, and was synced then: the first store changes nothing."}},
	{Name: "no-sync-3-at-probe", Source: "M18", Scenario: "jump-once", Property: "owned-breakpoint",
		Says:       "text_poke_bp doesn't sync after the head of a probe's jump",
		Apply:      SkipSync(smpev.SyncPoke3),
		Equivalent: &Equivalent{Certificate: true, Proof: "Who still sees the breakpoint traps, and the probe owns that: it sends the CPU by the detour as the jump would. The tail was synced before."}},
}

// NeedsJump reports whether a mutant shows only where a breakpoint becomes a jump: it
// breaks the optimizer, a detour, or how a jump is taken away. Those that change which
// probes are optimized aren't among them.
func NeedsJump(name string) bool {
	m, ok := find(name)
	return ok && m.NeedsJump
}

// Releases says in which releases the kernel had a fault of Shipped, "" of another.
func Releases(name string) string {
	if m, ok := find(name); ok {
		return m.Releases
	}
	return ""
}

// ByName returns the mutant of that name, AsShipped included.
func ByName(name string) (*Mutant, bool) {
	if name == AsShipped {
		return &Mutant{Name: name, Says: "the faults that the kernels of the scenario's edition had", Apply: applyShipped}, true
	}
	return find(name)
}

func find(name string) (*Mutant, bool) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], true
		}
	}
	return nil, false
}

// Names returns the names of all mutants.
func Names() []string {
	var names []string
	for i := range All {
		names = append(names, All[i].Name)
	}
	return names
}
