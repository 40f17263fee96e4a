package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// past are mutants that were written for a row of History.
var past = []Mutant{
	{Name: "ret-resumed", Source: "0b9e2cac8a56, 2.6.9 to 2.6.11", Scenario: "resumed", Property: "no-oops",
		Also: []string{"no-start-inside", "right-result"},
		Says: "after a step of ret the instruction pointer, which ret has set, is relocated relative to the original",
		Apply: resumedAs(func(_ *aggr, op, _ int) bool {
			return op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb
		})},
	{Name: "iret-resumed", Source: "0b0122faf483, 2.6.12 to 2.6.23", Scenario: "resumed", Property: "no-oops",
		Also: []string{"no-start-inside", "right-result"},
		Says: "after a step of iret the instruction pointer, which iret has set, is relocated relative to the " +
			"original",
		Apply: resumedAs(func(_ *aggr, op, _ int) bool { return op == 0xcf })},
	{Name: "jump-resumed", Source: "bcff5cd667da, until 2.6.16", Scenario: "resumed", Property: "no-oops",
		Also: []string{"no-start-inside", "right-result"},
		Says: "after a step of a jump through a register the instruction pointer, which the jump has set, is " +
			"relocated relative to the original",
		Apply: resumedAs(func(_ *aggr, op, group int) bool { return op == 0xff && (group == 4 || group == 5) })},
	{Name: "rep-ret-resumed", Source: "567a9fd86735, until 2.6.35", Scenario: "resumed", Property: "no-oops",
		Also: []string{"no-start-inside", "right-result"},
		Says: "the stepped instruction is recognised by its first byte, a prefix: after rep ret the instruction " +
			"pointer is relocated relative to the original",
		Apply: resumedAs(func(ap *aggr, _, _ int) bool {
			return insnOf(ap) != nil && insnOf(ap).Prefixes()&^(x86.PrefixREX|x86.PrefixREXW) != 0
		})},
	{Name: "post-in-slot", Source: "acb5b8a2dd0f, until 2.6.25", Scenario: "post-moves", Property: "no-oops",
		Also: []string{"right-result", "no-start-inside"},
		Says: "post_handlers run before the effects of the step are corrected: the address that they set is taken " +
			"for a place in the slot",
		Apply: on(func(s *steps) { postInSlot(s, &s.Copy.ResumeExecution) })},
	{Name: "removed-passed", Source: "bce0649417d6, until 2.6.13", Scenario: "removed", Property: "no-start-inside",
		Also:  []string{"no-oops", "right-result", "transparent"},
		Says:  "a CPU that traps on a breakpoint that was removed meanwhile continues after its byte",
		Apply: removed(func(_ *steps, _ *engine, _ context, r *regs) uint64 { r.IP++; return kpev.OwnerRemoved })},
	{Name: "removed-nested", Source: "eb3a72921c82, 2.6.13 to 2.6.15", Scenario: "removed",
		Property: "owned-breakpoint",
		Says:     "a breakpoint that is gone, hit by a handler, has no owner",
		Apply: removed(func(s *steps, e *engine, x context, r *regs) uint64 {
			if !s.Hit.KprobeRunning(e, x) {
				return kpev.OwnerRemoved
			}
			r.IP++
			return 0
		})},
	{Name: "removed-preempt", Source: "ddc66df876fd, 2.6.25-rc", Scenario: "removed", Property: "balanced",
		Says:  "a CPU that traps on a breakpoint that was removed meanwhile continues with preemption off",
		Apply: removed(func(_ *steps, _ *engine, x context, _ *regs) uint64 { x.PreemptDisable(); return kpev.OwnerRemoved })},
	{Name: "post-disarms", Source: "f5ad31158d60, 2.6.25 to 2.6.32", Scenario: "handlers-at-work", Property: "locks",
		Also:  []string{"no-sail-past", "text-agrees", "accounted"},
		Says:  "a probe that a post_handler hits loses its breakpoint, without notice",
		Apply: postDisarms},
	{Name: "nmi-unlatched", Source: "3f3c8b8c4b2a, until 3.2", Scenario: "nmi-in-nmi", Property: "right-result",
		Says:  "an NMI whose handler hits a breakpoint doesn't hold the next NMI back",
		Apply: func(w *Wiring) { w.Kernel.IRQs.Unlatched = true }},
	{Name: "nmi-in-step", Source: "6a5022a56ac3, 2.6.33 to 3.15", Scenario: "nmi-in-step", Property: "no-oops",
		Says: "a probe hit by an NMI during a step is one too many: BUG()",
		Apply: on(func(s *steps) {
			reentered := s.Hit.Reentered
			s.Hit.Reentered = func(e *engine, x context) bool { return e.Hits.Stepping(x) || reentered(e, x) }
		})},
	{Name: "unregister-unknown", Source: "04dea5f93231, until 2.6.11", Scenario: "arrays", Property: "no-oops",
		Says:  "unregistering an unregistered probe removes it from a list that it isn't on",
		Apply: unregisterUnknown},
	{Name: "array-first", Source: "67dddaad5d8b, 2.6.26-rc", Scenario: "arrays", Property: "list-agrees",
		Also:  []string{"right-result"},
		Says:  "the error of the first probe of an array is forgotten when the next is registered",
		Apply: on(arrayFirst)},
	{Name: "boost-extable", Source: "30390880debc, 2.6.25 to 2.6.28; 3.4 to 4.11", Scenario: "boost-extable",
		Property: "no-use-after-free",
		Also:     []string{"no-oops", "no-start-inside", "right-result"},
		Says:     "an instruction that may fault is boosted: its task sleeps in the slot",
		Apply:    func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckFault }},
	{Name: "refusal-unlocks", Source: "f02b8624fedc, 2.6.27 to 2.6.29", Scenario: "return-refused", Property: "locks",
		Says: "a lock that wasn't taken is released when an entry_handler refuses a call",
		Apply: on(func(s *steps) {
			s.Ret.RefuseCall = func(_ *engine, x context, ri *instance) { ri.PoolLock().Unlock(x) }
		})},
	{Name: "refusal-keeps", Source: "pre_handler_kretprobe, 2.6.25 to 3.2", Scenario: "return-refused",
		Property: "instances",
		Also:     []string{"accounted"},
		Says:     "the instance of a call that its entry_handler refuses isn't returned",
		Apply:    on(func(s *steps) { skip3(&s.Ret.RefuseCall) })},
	{Name: "null-handler", Source: "1d661ed54d86, 5.18-rc", Scenario: "return-handlerless", Property: "no-oops",
		Says:  "the missing handler of a return probe is called",
		Apply: nullHandler},
	{Name: "labels-atomic", Source: "de31c3ca8179, 2.6.37-rc", Scenario: "lock-orders", Property: "locks",
		Says: "to register a probe kprobes takes jump_label_mutex with preemption off",
		Apply: on(func(s *steps) {
			lock := s.Arm.LockSites
			s.Arm.LockSites = func(e *engine, x context) { x.PreemptDisable(); lock(e, x); x.PreemptEnable() }
		})},
	{Name: "traced-plug", Source: "d5b844a2cf50, 5.2-rc", Scenario: "traced-hotplug", Property: "locks",
		Says:  "ftrace takes the CPU-hotplug lock under text_mutex, which kprobes takes under it",
		Apply: func(w *Wiring) { w.Ftrace.Plug = w.Deps.Hotplug }},
	{Name: "opcode-under-jump", NeedsJump: true, Source: "arch_copy_kprobe, 2.6.34 to 3.3", Scenario: "under-a-jump",
		Property: "whole-instructions",
		Also:     []string{"text-agrees", "no-start-inside", "text-restored", "owned-breakpoint"},
		Says:     "the byte to restore at disarming is read from a neighbour's jump",
		Apply:    opcodeUnderJump},
	{Name: "detour-misplaced", NeedsJump: true, Source: "copy_optimized_instructions, 4.14 to 4.18",
		Scenario: "detour-relative", Property: "copies",
		Also:  []string{"right-result", "transparent", "no-oops"},
		Says:  "an instruction in a detour with relative operands is relocated as if it were the first there",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckPlace }},
	{Name: "detour-leaked", NeedsJump: true, Source: "arch_prepare_optimized_kprobe, 3.12 to 4.12",
		Scenario: "detour-out-of-reach", Property: "no-use-after-free",
		Also:  []string{"no-remains"},
		Says:  "the memory of a detour that can't be made isn't freed",
		Apply: on(func(s *steps) { s.Optimizer.FreeOptinsnSlot = func(*engine, context, arch.Addr, int) {} })},
	{Name: "unused-killed", NeedsJump: true, Source: "kill_optimized_kprobe, 2.6.38 to 3.10",
		Scenario: "module-goes-queued", Property: "no-remains",
		Also: []string{"list-agrees", "no-sail-past"},
		Says: "an unregistered probe that waits to lose its jump when its module goes is never freed",
		Apply: on(func(s *steps) {
			s.Gone.KillUnused = func(e *engine, x context, ap *aggr) { e.Optimizer.Dequeue(x, ap) }
		})},
	{Name: "killed-found", NeedsJump: true, Source: "kill_optimized_kprobe, 3.11 and later",
		Scenario: "module-goes-reused", Property: "text-restored",
		Says: "an unregistered probe that waits to lose its jump when its module goes is found when another probe " +
			"is registered at its address",
		Apply: on(killedFound)},
	{Name: "short-unsigned", Source: "ae052e3ae095, 6.2-rc", Scenario: "emulated-back", Property: "right-result",
		Also:  []string{"no-start-inside", "no-oops", "transparent"},
		Says:  "an emulated two-byte jump backwards jumps forwards",
		Apply: emulated(shortUnsigned)},
	{Name: "unarmed-registered", Source: "12310e343755, 3.7 to 4.15", Scenario: "ftrace-refuses", Property: "accounted",
		Also:  []string{"no-sail-past", "text-agrees"},
		Says:  "a probe that ftrace can't arm counts as registered",
		Apply: on(unarmedRegistered)},
	{Name: "unarmed-enabled", Source: "4a6f316d6855, 4.16 to 6.0", Scenario: "ftrace-refuses", Property: "no-sail-past",
		Also:  []string{"text-agrees", "list-agrees", "accounted"},
		Says:  "a probe that ftrace can't arm when it is enabled counts as enabled",
		Apply: on(unarmedEnabled)},
	{Name: "unarmed-killed", Source: "3031313eb3d5, 5.9-rc", Scenario: "module-traced-disabled",
		Property: "no-sail-past",
		Also:     []string{"accounted"},
		Says: "a site of ftrace that isn't armed is disarmed when its module goes: the count of armed sites is one " +
			"too low",
		Apply: on(unarmedKilled)},
	{Name: "static-call-probed", Source: "1dcba646c86d, 5.11 to 5.13", Scenario: "static-call-probed",
		Property: "text-agrees",
		Also:     []string{"whole-instructions", "no-sail-past", "owned-breakpoint", "accounted", "handler-context"},
		Says:     "a probe may stand on the site of a static call",
		Apply:    func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckStaticCall }},
	{Name: "slots-unlocked", Source: "2dd960d66bc1, 2.6.12 to 2.6.13", Scenario: "slots-at-once",
		Property: "no-use-after-free",
		Also:     []string{"copies", "no-remains"},
		Says:     "freeing a slot doesn't lock the list of free ones",
		Apply:    func(w *Wiring) { w.Kernel.Exec.Unlocked = true }},
	{Name: "key-early", Source: "4c5ea0a9cd02, 2.6.37 to 4.6; 1dbb6704de91, 4.3 to 4.13", Scenario: "key-shared",
		Property: "last-setting",
		Also:     []string{"right-result"},
		Says: "a task that turns a key on while another task is turning it on continues before the text is " +
			"patched",
		Apply: keyed(keyEarly)},
	{Name: "key-kept", Source: "1d7f856c2ca4, 6.11", Scenario: "key-counted", Property: "sites-agree",
		Also:  []string{"right-result"},
		Says:  "the last of two tasks that turn a key off leaves it on",
		Apply: keyed(keyKept)},
	{Name: "key-stays", Source: "224fa3552029, 6.11-rc", Scenario: "key-counted", Property: "sites-agree",
		Also:  []string{"last-setting", "right-result"},
		Says:  "a key stays on when it is turned off",
		Apply: keyed(keyStays)},
	{Name: "label-asked", Source: "b842f8faf6c7, 2.6.37-rc", Scenario: "module-labels", Property: "no-oops",
		Says:  "the check that a label's text exists comes before the lock that protects it",
		Apply: keyed(labelAsked)},
	{Name: "label-gone", Source: "jump_label_update, 2.6.37 to 4.16", Scenario: "module-labels", Property: "no-oops",
		Says:  "a label is written although its text is gone",
		Apply: keyed(labelGone)},
	{Name: "slot-number", Source: "83ff56f46a85, 2.6.34-rc where an opcode isn't a byte", Scenario: "slots-of-a-page",
		Property: "no-use-after-free",
		Also:     []string{"copies", "right-result", "no-remains"},
		Says:     "a slot is freed under the number of another",
		Apply:    func(w *Wiring) { w.Kernel.Exec.Misnumbered = true }},
	{Name: "forced-stepped", Source: "004e8dce9c52, until 5.3", Scenario: "refused-forced", Property: "answers",
		Says:  "a probe may stand on the prefix that asks a hypervisor to emulate an instruction",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckForced }},
	{Name: "relative-refused", Source: "__copy_instruction, until 4.0", Scenario: "relative", Property: "right-result",
		Also:  []string{"answers"},
		Says:  "instructions with relative operands can't be probed: the copy's length is taken for 0",
		Apply: on(func(s *steps) { s.Copy.RunsAt = func(_ *aggr, at arch.Addr) arch.Addr { return at ^ 1<<40 } })},
	{Name: "ftrace-post-cleared", Source: "5dd7caf0bdc5, 5.4 to 6.0", Scenario: "ftrace-post-first",
		Property: "no-remains",
		Also:     []string{"text-agrees", "accounted", "no-sail-past"},
		Says: "when a probe with a post_handler leaves others at a site of ftrace, the last of these is removed " +
			"from the wrong client",
		Apply: on(func(s *steps) { postCleared(s, &s.Register.PublishProbes, kprobes.AnyPost) })},
	{Name: "forced-kept", NeedsJump: true, Source: "4fbd2f83fda0, 5.6 to 6.2", Scenario: "forced-away",
		Property: "owned-breakpoint",
		Also:     []string{"text-restored", "text-agrees"},
		Says:     "a probe that waits to be freed, and loses its jump by force, leaves its breakpoint",
		Apply:    on(forcedKept)},
	{Name: "recover-queued", NeedsJump: true, Source: "868a6fc0ca24, 5.6 to 6.2", Scenario: "forced-away",
		Property: "answers",
		Also:     []string{"right-result"},
		Says:     "text under a jump that waits to be removed is decoded as it is",
		Apply: on(func(s *steps) {
			s.Register.RecoverOptprobed = func(e *engine, ap *aggr) bool { return !e.Optimizer.Unoptimizing(ap) }
		})},
	{Name: "disabled-is-disarmed", NeedsJump: true, Source: "f1c97a1b4ef7, 5.6 to 6.2", Scenario: "disabled-neighbour",
		Property: "no-start-inside",
		Also:     []string{"unoptimized", "text-agrees", "whole-instructions"},
		Says:     "a disabled probe whose jump still stands doesn't keep its neighbour from being optimized",
		Apply: on(func(s *steps) {
			s.Optimizer.KeepsJumpAway = func(ap *aggr) bool { return ap.Armed() && s.Arm.AggrEnabled(ap) }
		})},
}

func killedFound(s *steps) {
	hide, kill, killing := s.Register.HideKprobe, s.Gone.KillUnused, false
	s.Register.HideKprobe = func(e *engine, x context, ap *aggr) {
		if !killing {
			hide(e, x, ap)
		}
	}
	s.Gone.KillUnused = func(e *engine, x context, ap *aggr) {
		killing = true
		kill(e, x, ap)
		killing = false
	}
}
