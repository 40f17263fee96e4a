// Package kernel provides the kernel services that text patching uses: mutexes, RCU in its flavours, stop_machine,
// the text-poke family, delayed work, the notifier chains of exceptions, executable memory, symbols, loading and
// unloading of modules. It also rewrites lock prefixes and applies alternatives. It implements kapi on the machine of
// smp.
//
// What it is not: it knows nothing of probes.
//
// Its rule: routines are linear Go and read like kernel source; a numbered protocol has its steps in the doc comment
// and in the body.
//
// Lock order, outermost first:
//
//	cpu_add_remove_lock     a CPU comes or goes (hotplug.go, cpuhp.go)
//	kprobe_mutex            (kprobes)
//	  cpu_hotplug_lock      read by a task that patches text, written while a CPU comes or goes
//	  ftrace_lock           a batch of sites
//	  static_call_mutex
//	  text_mutex            each store to live text
//	    stop_cpus_mutex     stop_machine
//
// A module's text is in pages that are mapped when it is loaded and unmapped when it is unloaded (module.go): a CPU
// that runs unmapped text, or writes to it, takes a page fault that no handler resolves. Its notifiers run with no
// lock held. A batch of rewrites (poke.go) has three syncs for all of them; a CPU that hits one of its breakpoints
// executes the new instruction instead.
//
// Stacks (stacks.go) are scanned word by word, as they are in memory: every word that looks like an address counts as
// one. A page fault on paged-out data (pager.go) sleeps if its context allows that. Waits for works, grace periods
// and held locks are reported only to monitors (smp.Ctx.Tell).
//
// cond_resched depends on the preemption model. none, voluntary: it schedules, a quiescent state of every flavour.
// dynamic: if another task wants the CPU the caller is preempted, which isn't a quiescent state for tasks-RCU. full,
// lazy: it does nothing. cond_resched_tasks_rcu_qs is a quiescent state for tasks-RCU first.
//
// A grace period that has lasted for Config.Stall cycles is reported at a tick, once (RCU.stalls). It doesn't wait
// for CPUs that idle when it begins.
//
// A CPU is dead, online, or online and active (cpuhp.go). Tasks are placed only on active CPUs; online ones answer
// IPIs and take part in stop_machine. RCU has a set of its own: a CPU is in it before it is online, and until it has
// died.
//
// A routine accesses its cells by the verbs that Linux uses at that place. Where Linux keeps an order, a barrier is
// defined at the top of the file, with its source (kapi.DefineBarrier). The routine's own store may still be in its
// CPU's store buffer, where Peek doesn't see it. Peek is for conditions, monitors and reports.
//
// Some state is sequentially consistent under every memory model: the state that grace periods wait for, and the
// nesting of sections; stop_machine's function; which call of sync_core a CPU has served; the lists of executable
// memory, which a step of a locked instruction reads and writes as a whole; symbols, and which of them can be found;
// the mapped pages; the owner of a lock, for AssertHeld. Linux counts readers of cpu_hotplug_lock in a word per CPU,
// without a lock prefix: here they are counted in one word, by locked instructions.
//
// Its limits: a module's data stays mapped; the task that loaded a module frees its memory, not a worker; no TLB is
// modelled, but the IPIs that flush it are sent. Ftrace has one trampoline, for all clients of a site. Lock prefixes
// are rewritten as if no other CPU were online. A CPU comes and goes by the steps in cpuhp.go, and only steps that a
// caller names fail. In edition 2.6 tasks leave with the machine stopped, as since 2.6.38, not when the CPU is dead.
// Per-CPU memory has the variables of percpu.go, and no task_struct. If text raises the preemption count the CPU
// can't be taken from its task, but lowering it doesn't schedule.
//
// # Names
//
// Functions are named after what they do for an engine (kapi). These are their counterparts in the kernel, the
// newest name last:
//
//	TextPoke.Patch         text_poke_bp, smp_text_poke_single
//	TextPoke.Batch         text_poke_queue and text_poke_finish, smp_text_poke_batch_add and _finish
//	TextPoke.do            text_poke_bp_batch, whose steps are PokeSteps
//	TextPoke.breakpoint    poke_int3_handler, smp_text_poke_int3_handler
//	PokeStopped.Patch      text_poke_smp
//	PokeWhole.Batch        arch_jump_label_transform_queue of each and arch_jump_label_transform_apply
//	Text.Poke              text_poke
//	Text.Exchange          text_poke_kgdb
//	Alternatives.Apply     apply_alternatives
//	Alternatives.early     text_poke_early
//	LockPrefixes.Set       alternatives_smp_switch
//	Sync.Core              text_poke_sync, smp_text_poke_sync_each_cpu; flush_icache_all, kick_all_cpus_sync
//	Stop.Machine           stop_machine
//	Stop.stopper           multi_cpu_stop
//	RCU.Synchronize        synchronize_sched, synchronize_rcu, synchronize_rcu_tasks: by flavour
//	RCU.Call               call_rcu
//	RCU.ReadLock           rcu_read_lock
//	RCU.switched           rcu_note_context_switch
//	RCU.tick               rcu_sched_clock_irq
//	RCU.stalls             check_cpu_stall, check_holdout_task
//	Kernel.CondResched     cond_resched
//	Kernel.mightSleep      might_sleep
//	Kernel.toUser          exit_to_user_mode_loop
//	Hotplug.ReadLock       cpus_read_lock
//	Hotplug.Down           cpu_down
//	Hotplug.Up             cpu_up
//	Traps.breakpoint       exc_int3
//	Traps.debug            exc_debug
//	Traps.fixup            fixup_exception
//	Modules.Load           init_module
//	Modules.Unload         delete_module
//	Modules.Get            try_module_get
//	Modules.Put            module_put
//	DelayedWork.Queue      queue_delayed_work
//	DelayedWork.Flush      flush_delayed_work
//	ExecMem.Alloc          __get_insn_slot
//	ExecMem.Retire         __free_insn_slot
//	ExecMem.collect        collect_garbage_slots
package kernel
