package era

import (
	"slices"

	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// Table has a row for each setting, in the order of the parameters of machine(): first the
// settings that editions decide, then those of the build. The columns of presets are:
// default, 2.6, 4.15, 5.14, 6.5, 6.9, documented.
var Table = []Row{
	row("quiesce", enum(func(s *Settings) *kapi.Flavour {
		return &s.Quiesce
	}, "none", "sched", "rcu", "tasks", "stack-check"),
		"none none sched/tasks rcu/tasks rcu/tasks rcu/tasks rcu",
		"what the optimizer waits for before it writes a jump",
		"what the optimizer waits for before it writes a jump: nothing; `\"sched\"`: every CPU schedules; "+
			"`\"rcu\"`: a grace period; `\"tasks\"`: every task schedules voluntarily; `\"stack-check\"`: the "+
			"machine is stopped, and no stack shows a task inside the region").ofJumps(),
	row("patch", enum(func(s *Settings) *Patch {
		return &s.Patch
	}, patchWords...),
		"breakpoint breakpoint breakpoint breakpoint breakpoint breakpoint stop_machine",
		"how a jump is written over live text",
		"how a jump is written: int3 first; `\"stop_machine\"`; `\"naive\"`: plain stores, the head byte first; "+
			"`\"naive-tail-first\"`. It applies to jump labels and static calls, too; ftrace always writes an int3 "+
			"first. On riscv64 and arm64 it is how a jump label is written: `\"whole\"`, which is the default there: "+
			"stores as large as the address allows, and one sync of all CPUs after the last site; or "+
			"`\"stop_machine\"`").others(1),
	row("removed_int3", flag(func(s *Settings) *bool { return &s.RemovedInt3 }),
		"_ yes yes yes yes _ yes",
		"kprobes handles a trap whose breakpoint is gone",
		"kprobes handles a trap whose breakpoint is gone (kernels until 6.2)").ofX86(),
	row("rules", list(func(s *Settings) *rules.Edition { return &s.Kernel.Edition },
		[]rules.Edition{rules.Edition69, rules.Edition65, rules.Edition514, rules.Edition415, rules.Edition26},
		newestFirst()...),
		"6.9 2.6 4.15 5.14 6.5 6.9 6.5",
		"whose rules say what can be probed",
		"whose rules say what can be probed, boosted and optimized: also `\"6.5\"`, `\"5.14\"`, `\"4.15\"`, `\"2.6\"`"),
	row("boundaries", list(func(s *Settings) *bool { return &s.AnyByte }, []bool{false, true}, "checked", "any"),
		"checked any checked checked checked checked checked",
		"whether a probe must be at an instruction's first byte",
		"`\"any\"`: a probe may be anywhere in an instruction (2.6)"),
	row("step", enum(func(s *Settings) *Step { return &s.Step }, "int3", "debug"),
		"int3 debug debug int3 int3 int3 int3",
		"how the end of the copied instruction is noticed",
		"how the end of a copied instruction is noticed: a breakpoint after it; `\"debug\"`: the trap flag (until "+
			"5.12)").ofX86(),
	row("boost", enum(func(s *Settings) *Boost { return &s.Boost }, "never", "prepare", "stepped"),
		"never never stepped prepare prepare prepare prepare",
		"when the jump after the copy is written, built without preemption",
		"when the jump after a copy is written, which saves the step, built without preemption: `\"prepare\"`: "+
			"with the copy; `\"stepped\"`: when the copy has run once (until 5.12). In 2.6 i386 has the second").
		ofX86(),
	row("returns", enum(func(s *Settings) *Return {
		return &s.Return
	}, "objpool", "rethook", "freelist", "hashed", "global"),
		"objpool global hashed freelist rethook objpool rethook",
		"how return probes keep track of calls",
		"how return probes keep track of calls: a per-CPU array; `\"rethook\"`: a lock-free list; `\"freelist\"`: "+
			"the same, and a list per task; `\"hashed\"`: a table with a lock per bucket; `\"global\"`: one table "+
			"with one lock, and a probe as the trampoline"),
	row("old_trampoline", flag(func(s *Settings) *bool { return &s.OldTrampoline }),
		"_ _ _ _ _ _ _",
		"whether a probe is the trampoline of return probes on i386, too",
		"with `returns = \"global\"` a probe is the trampoline on i386, too (until 2.6.16); otherwise the "+
			"trampoline there is code").ofX86(),
	row("maxactive", list(func(s *Settings) *bool {
		return &s.MaxactiveAll
	}, []bool{true, false}, "always", "preemption"),
		"always preemption preemption preemption always always always",
		"whether maxactive defaults to max(10, 2 CPUs) always, or only with preemption, and otherwise to the "+
			"number of CPUs",
		"the default of `maxactive`: max(10, 2 CPUs); `\"preemption\"`: without preemption the number of CPUs "+
			"(until 6.0)"),
	row("data_max", list(func(s *Settings) *int { return &s.DataMax }, []int{0, dataMost}, "any", "4096"),
		"any any any any 4096 4096 4096",
		"the most bytes of private data that a return probe may have",
		"the most private data that a return probe may have; `\"4096\"` (5.16 and later)"),
	row("unwind", flag(func(s *Settings) *bool { return &s.Unwind }),
		"_ _ _ _ yes yes yes",
		"whether backtraces see through the trampoline of return probes",
		"backtraces see through the trampoline of return probes (5.15 and later)"),
	row("fault_handlers", flag(func(s *Settings) *bool { return &s.FaultHandlers }),
		"_ yes yes _ _ _ _",
		"whether probes have fault handlers",
		"probes have fault handlers (until 5.13)").ofX86(),
	row("jprobes", flag(func(s *Settings) *bool { return &s.Jprobes }),
		"_ yes _ _ _ _ _",
		"whether there are jprobes",
		"there are jprobes (until 4.14)").ofX86(),
	row("batches", flag(func(s *Settings) *bool { return &s.Batches }),
		"yes _ yes yes yes yes yes",
		"whether arrays can be registered, probes disabled and enabled",
		"arrays of probes can be registered, probes disabled and enabled (not in 2.6)"),
	row("optprobes", flag(func(s *Settings) *bool { return &s.Kernel.Optprobes }),
		"yes _ yes yes yes yes yes/_",
		"whether a breakpoint may become a jump",
		"a breakpoint may become a jump (CONFIG_OPTPROBES; not in 2.6)").ofJumps(),
	row("order", enum(func(s *Settings) *Order { return &s.Order }, "text", "module", "step"),
		"text step module text text text text",
		"which locks the optimizer holds while it waits",
		"which locks the optimizer holds while it waits: cpus_read_lock and text_mutex; `\"module\"`: text_mutex, "+
			"for each step only (4.15 to 5.2); `\"step\"`: neither (until 4.12)").ofJumps(),
	row("batch", list(func(s *Settings) *int { return &s.Batch }, []int{0, MostOptimized}, "all", "256"),
		"all all all all all all 256",
		"the most jumps that one run of the optimizer writes or removes",
		"the most jumps that one run of the optimizer writes or removes; `\"256\"`: as long as text_poke_smp_batch "+
			"wrote them").ofJumps(),
	row("save_ss", flag(func(s *Settings) *bool { return &s.SaveSS }),
		"_ _ _ yes yes yes yes",
		"whether detours save ss with the other registers",
		"detours save ss with the other registers (5.10 and later)").ofX86(),
	row("detour_irqs_off", flag(func(s *Settings) *bool { return &s.DetourIRQsOff }),
		"_ _ _ _ _ _ _",
		"whether handlers behind a detour run with interrupts off",
		"handlers behind a detour run with interrupts off (until 4.14)").ofX86(),
	row("unoptimize", enum(func(s *Settings) *Unoptimize {
		return &s.Unoptimize
	}, "as-patched", "breakpoint", "patcher"),
		"as-patched patcher patcher breakpoint breakpoint breakpoint patcher",
		"how a jump is taken away",
		"how a jump is removed: `\"breakpoint\"`: through a breakpoint, with syncs (5.6 and later); `\"patcher\"`: "+
			"as it was written; by default the first if `patch` is `\"breakpoint\"`").ofX86(),
	row("sync_arm", flag(func(s *Settings) *bool { return &s.SyncArm }),
		"yes yes yes yes yes yes yes",
		"whether every CPU is synchronized after a breakpoint is written",
		"every CPU is synchronized after a breakpoint is written; kernels until 5.5 don't do that").ofX86(),
	row("sync_copies", flag(func(s *Settings) *bool { return &s.SyncCopies }),
		"_ _ _ _ _ _ _",
		"whether every CPU is synchronized after a slot or a detour is written",
		"every CPU is synchronized after a slot or a detour is written; no kernel does so. With `fred = True` "+
			"nothing else keeps a CPU from running what was there before").ofX86(),
	row("ftrace", flag(func(s *Settings) *bool { return &s.Kernel.Ftrace }),
		"_ _ yes yes yes yes yes",
		"whether a probe at a function's fentry goes through ftrace",
		"a probe at a function's fentry goes through ftrace").ofTraced(),
	row("ftrace_modifies", flag(func(s *Settings) *bool { return &s.FtraceClaims }),
		"_ _ yes _ _ _ _",
		"whether every probe at a fentry declares that it may change the path, or only those with a post_handler",
		"every such probe declares that it may change the path, not only those with a post_handler (until 5.3)").
		ofX86(),
	row("module_refs", flag(func(s *Settings) *bool { return &s.ModuleRefs }),
		"_ yes _ _ _ _ _",
		"whether a probe holds its module until it is unregistered, or while it is being registered",
		"a probe holds its module until it is unregistered (2.6)").ofX86(),
	row("files", enum(func(s *Settings) *Files { return &s.Files }, "bool", "char", "plain", "first"),
		"bool first plain char bool bool bool",
		"what the interface files take and print: as since 5.16, as until 5.15, as until 4.17, as in 2.6",
		"what the files of debugfs take and print: `\"char\"`: as until 5.15; `\"plain\"`: as until 4.17; "+
			"`\"first\"`: as in 2.6"),
	row("int3_count", enum(func(s *Settings) *kapi.Counting { return &s.Counting }, "nmi", "twice", "once"),
		"nmi once twice nmi nmi nmi nmi",
		"how the handler of a breakpoint raises the preemption count: as an NMI, by 2, or by 1",
		"what a breakpoint's handler finds in `__preempt_count`: as in an NMI's (5.8 and later); "+
			"`\"twice\"`: preemption disabled twice, and once while an instruction is stepped (4.0 to 4.18); `\"once\"`: once").
		ofX86(),
	row("nmi_latch", flag(func(s *Settings) *bool { return &s.NMILatch }),
		"yes _ yes yes yes yes yes",
		"whether an NMI that arrives during an NMI's handler waits for its end",
		"an NMI that arrives during an NMI's handler waits for its end (3.3 and later); without this, the return "+
			"from a breakpoint there lets the next one in"),
	ofBuild("retpoline", flag(func(s *Settings) *bool { return &s.Kernel.Retpoline }),
		"built with CONFIG_RETPOLINE",
		"built with CONFIG_RETPOLINE: there are no jump tables, but jumps to thunks "+
			"(`__x86_indirect_thunk_…`), and the rules of probing go by that").ofX86(),
	ofBuild("ibt", flag(func(s *Settings) *bool { return &s.Kernel.IBT }),
		"built with CONFIG_X86_KERNEL_IBT",
		"built with CONFIG_X86_KERNEL_IBT: functions begin with endbr64, and a probe at one goes behind it "+
			"(5.18 and later)").ofX86(),
}

// ByEdition lists the rows that editions decide.
var ByEdition = Table[:slices.IndexFunc(Table, func(r Row) bool { return r.Build })]

// Drawn lists the rows of ByEdition that fuzz draws independently. It ends before int3_count:
// rows that were added later would change what each seed draws.
var Drawn = ByEdition[:slices.IndexFunc(ByEdition, func(r Row) bool { return r.Word == "int3_count" })]

// newestFirst lists the editions that have rules of their own, newest first.
func newestFirst() (words []string) {
	for e := rules.Edition69; e >= rules.Edition26; e-- {
		words = append(words, e.String())
	}
	return words
}
