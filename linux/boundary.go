package linux

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A served row is one service of the boundary: functions of the kernel that its engine
// calls and that are implemented here, in Go.
type served struct {
	names    []string // the names in different releases; each that the kernel has is served
	contract string   // the kernel's contract of the function
	needed   bool     // a kernel without it can't be run
	// The service may sleep. A call where sleeping is forbidden is a finding.
	sleeps bool
	keeps  bool  // the service preserves all registers
	varied bool  // the function is variadic (…)
	bits32 bool  // only kernels for i386 are served
	on     *port // only kernels of this row are served; nil: all are
	alone  bool  // only kernels are served whose kprobes aren't run (Kernel.Lacks)
	core   bool  // where ftrace's clients are the kernel's own (Settings.Clients), the function runs as it is
	// a kernel that pokes text one by one has other functions for that
	batched, one bool
	do           func(e *Linux, x kapi.Context, a *args) uint64 // nil: a call ends the run
}

// args are the first arguments of a call, by the calling convention.
type args [6]uint64

// A service is a function of this kernel that the boundary serves.
type service struct {
	name string
	*served
	watch   *watch // if set, the service only notes calls of a function that isn't served
	ends    bool   // the service notes the ends of calls, not their beginnings
	pointed bool   // the service stands for all functions that the engine must not call
}

// A watch is a function that runs unchanged, with a routine before and after each call.
type watch struct {
	name          string
	before, after func(e *Linux, x kapi.Context, a *args) // nil: nothing; after gets the arguments of before
}

// boundary is the table of all services. A call of any other function outside the engine's
// closure is refused by name.
var boundary []served

func init() { boundary = rows() }

func rows() []served {
	return slices.Concat(mappings(&portRISCV), mappings(&portARM), []served{
		// Locks and hotplug.
		{names: []string{"mutex_lock", "mutex_lock_nested", "_mutex_lock"},
			contract: "sleeps until the mutex is free, and takes it",
			needed:   true, sleeps: true, do: mutexLock},
		{names: []string{"__mutex_init", "mutex_init_generic", "__mutex_do_init", "__mutex_rt_init", "__rt_mutex_init",
			"mutex_rt_init_generic", "rt_mutex_base_init"}, contract: "makes a mutex", do: nothing},
		{names: []string{"mutex_unlock", "_mutex_unlock"}, contract: "lets the mutex go", needed: true,
			do: mutexUnlock},
		{names: []string{"cpus_read_lock"}, contract: "no CPU comes or goes until cpus_read_unlock", sleeps: true,
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.d.Hotplug.ReadLock(x); return 0 }},
		{names: []string{"cpus_read_unlock"}, contract: "ends cpus_read_lock",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.d.Hotplug.ReadUnlock(x); return 0 }},
		{names: []string{"lockdep_assert_cpus_held"},
			contract: "says that cpus_read_lock is needed here: a kernel with lockdep warns if it isn't held",
			do:       func(e *Linux, x kapi.Context, a *args) uint64 { e.d.Hotplug.AssertHeld(x); return 0 }},

		// RCU.
		{names: []string{"__rcu_read_lock"},
			contract: "a grace period that begins from now on waits for the end of the section",
			do:       func(e *Linux, x kapi.Context, a *args) uint64 { e.d.RCU.ReadLock(x); return 0 }},
		{names: []string{"__rcu_read_unlock"}, contract: "ends the section",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.d.RCU.ReadUnlock(x); return 0 }},
		{names: []string{"rcu_read_unlock_strict"}, contract: "checks the context, in a kernel without preemption",
			do: nothing},
		{names: []string{"rcu_is_watching"},
			contract: "whether grace periods wait for this CPU: those of scenarios are never in an extended " +
				"quiescent state", do: func(*Linux, kapi.Context, *args) uint64 { return 1 }},
		{names: []string{"synchronize_rcu"},
			contract: "returns after all sections that had begun have ended, those with preemption or " +
				"interrupts off among them", needed: true, sleeps: true, do: synchronizeRCU},
		{names: []string{"synchronize_rcu_tasks"},
			contract: "returns after every task that was preempted or runs has switched voluntarily", sleeps: true,
			do: synchronizeTasks},
		{names: []string{"synchronize_rcu_tasks_rude"},
			contract: "returns after every CPU has switched between tasks",
			sleeps:   true, do: synchronizeRude},
		{names: []string{"call_rcu_tasks"},
			contract: "calls back, from a thread, after every task that was preempted or runs has switched voluntarily",
			do:       callRCUTasks},
		{names: []string{"call_rcu"}, contract: "calls back after a grace period, from a thread that may not sleep",
			do: callRCU},
		{names: []string{"kvfree_call_rcu"}, contract: "frees memory after a grace period", do: freeRCU},

		// Work, IPIs.
		{names: []string{"queue_delayed_work_on"},
			contract: "runs the work's function some time later, unless it is pending", do: queueWork},
		{names: []string{"flush_delayed_work"}, contract: "runs pending work at once and returns when none runs",
			sleeps: true, do: flushWork},
		{names: []string{"on_each_cpu_cond_mask"},
			contract: "every online CPU calls the function; with wait returns when all have", do: onEachCPU},
		{names: []string{"smp_call_function"},
			contract: "each other CPU calls a function: (function, data, wait)", do: callOthers},
		{names: []string{"on_each_cpu"}, contract: "likewise: (function, data, wait)",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { return syncCores(e, x, a[0]) }},

		// Threads and their waits.
		{names: []string{"kthread_create_on_node"}, contract: "a thread that doesn't run yet: (function, data, …)",
			varied: true, do: createThread},
		{names: []string{"wake_up_process"}, contract: "lets a thread run", do: nothing},
		{names: []string{"kthread_should_stop"}, contract: "whether the thread is to end", do: shouldStop},
		{names: []string{"__init_waitqueue_head"}, contract: "makes a queue of waiters", do: nothing},
		{names: []string{"__init_swait_queue_head"}, contract: "makes a queue of waiters", do: nothing},
		{names: []string{"wait_for_completion"}, contract: "sleeps until it is complete, and takes one completion",
			sleeps: true, do: waitForCompletion},
		{names: []string{"complete"}, contract: "lets one waiter go on, now or later",
			do: completed},
		{names: []string{"completion_done"}, contract: "whether a waiter would go on",
			do: func(_ *Linux, x kapi.Context, a *args) uint64 { return b2u(addDone(x, a[0], 0) > 0) }},
		{names: []string{"__var_waitqueue"}, contract: "the queue of those who wait for a variable", do: varQueue},
		{names: []string{"init_wait_entry", "init_wait_var_entry"}, contract: "makes an entry of a queue", do: nothing},
		{names: []string{"prepare_to_wait_event"},
			contract: "from now on a wake-up of the queue wakes the caller, who may sleep: (queue, entry, state)",
			do:       prepareToWait},
		{names: []string{"finish_wait"}, contract: "takes that back", do: nothing},
		{names: []string{"schedule"}, contract: "sleeps until it is woken", sleeps: true, do: waitInQueue},
		{names: []string{"schedule_timeout"},
			contract: "likewise, or until some time has passed; returns how much is left", sleeps: true,
			do: waitTimeout},
		{names: []string{"__wake_up"}, contract: "wakes those who wait in a queue",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.thread.wakeQueue(x, a[0]); return 0 }},
		{names: []string{"wake_up_var"}, contract: "wakes those who wait for a variable",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.thread.wakeQueue(x, a[0]); return 0 }},

		// Text.
		{names: []string{"__text_poke"},
			contract: "stores through a mapping of its own as memcpy does, and serialises the storing CPU; " +
				"text_mutex is held", needed: true, batched: true, do: textPoke},
		{names: []string{"queued_spin_lock_slowpath"}, on: &portARM,
			contract: "waits until a spinlock is free, and takes it: (lock, value)", do: spinSlowly},
		{names: []string{"aarch64_insn_write_literal_u64"}, on: &portARM,
			contract: "stores the client of a function beside it, for ftrace's trampoline: here that is " +
				"kpsim's, which asks ftrace", do: nothing},
		{names: []string{"ftrace_bug"},
			contract: "warns that a site isn't as it should be: (error, record)", do: ftraceBug},
		{names: []string{"kick_all_cpus_sync"}, on: &portARM,
			contract: "returns after each other CPU has taken an IPI, whose return synchronizes its context",
			do:       kickAll},
		{names: []string{"is_vmalloc_or_module_addr"}, on: &portPPC,
			contract: "whether an address isn't in the kernel's own mapping", do: isModuleAddr},
		{names: []string{"vmalloc_to_pfn"}, on: &portPPC, contract: "the number of the page that such an address is in",
			do: pfnOf},
		{names: []string{"flush_icache_range"}, on: &portPPC,
			contract: "the caller's CPU fetches what was stored: the caches are coherent", do: flushRange},
		{names: []string{"ftrace_location_range"}, on: &portPPC,
			contract: "the address of a site of ftrace from one address to another, or 0", do: locationRange},
		{names: []string{"stop_machine", "stop_machine_cpuslocked"}, one: true, sleeps: true,
			contract: "stops all CPUs, each of which calls the function with interrupts off: (function, data, CPUs)",
			do:       stopMachine},

		// Traps.
		{names: []string{"kprobe_int3_handler"}, alone: true,
			contract: "whether a probe's breakpoint was hit: none is there",
			do:       nothing},
		{names: []string{"report_bug"}, one: true,
			contract: "warns, or says that the kernel is to die, if there is a BUG or WARN at an address",
			do:       reportBug},
		{names: []string{"interrupt_enter_prepare"}, on: &portPPC,
			contract: "masks interrupts: (registers)", do: enterPrepare},
		{names: []string{"arch_interrupt_enter_prepare.part.0"}, on: &portPPC,
			contract: "checks where a trap comes from: (registers)", do: nothing},
		{names: []string{"irqentry_enter", "irqentry_exit"}, on: &portPPC,
			contract: "RCU watches the CPU; another task gets it, if one wants it: the machine does that", do: nothing},
		{names: []string{"memcpy_power7"}, on: &portPPC, contract: "copies memory, large pieces by vector registers: " +
			"(to, from, size)", do: copyMemory},
		{names: []string{"arch_local_irq_restore"}, on: &portPPC,
			contract: "masks interrupts as they were, and takes those that came meanwhile: (mask)", do: irqRestore},
		{names: []string{"_exception"}, on: &portPPC, contract: "the kernel dies: (signal, registers, …)",
			do: exceptionPPC},
		{names: []string{"fixup_exception"}, one: true,
			contract: "goes on where the exception table says: (registers)", do: fixupException},

		// Memory.
		{names: []string{"__kmalloc", "__kmalloc_noprof"}, contract: "memory, or NULL; GFP_KERNEL may sleep",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { return e.memory.alloc(x, a[0], a[1]) }},
		{names: []string{"kmalloc_trace", "kmem_cache_alloc_trace", "__kmalloc_cache_noprof"},
			contract: "likewise, of a cache: (cache, flags, size)", do: func(e *Linux, x kapi.Context, a *args) uint64 {
				return e.memory.alloc(x, a[2], a[1])
			}},
		{names: []string{"__kmalloc_node_noprof", "__kmalloc_node"}, contract: "likewise, of a node: (size, flags)",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { return e.memory.alloc(x, a[0], a[1]) }},
		{names: []string{"__vmalloc_node_noprof", "__vmalloc_node"},
			contract: "likewise, of whole pages: (size, align, flags)",
			do: func(e *Linux, x kapi.Context, a *args) uint64 {
				return e.memory.alloc(x, uint64(roundUp(int(min(a[0], mostObject+1)), page)), a[2])
			}},
		{names: []string{"kfree", "kvfree"}, contract: "takes memory back, or nothing",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.memory.free(x, a[0], e.caller(x)); return 0 }},
		{names: []string{"module_alloc", "execmem_alloc", "execmem_alloc_rw"},
			contract: "pages for code, writable by text_poke; ftrace writes its own by stores, before set_memory_ro",
			do:       moduleAlloc},
		{names: []string{"module_memfree", "execmem_free"},
			contract: "takes pages for code back: a CPU that runs there faults", do: moduleFree},
		{names: []string{"cpu_wants_rethunk_at", "cpu_wants_rethunk"},
			contract: "whether a return is to be a jump to a thunk: here none is", do: nothing},
		{names: []string{"callthunks_translate_call_dest"},
			contract: "what a call of a function is to call: the function, where calls aren't counted",
			do:       func(e *Linux, x kapi.Context, a *args) uint64 { return a[0] }},
		{names: []string{"set_memory_ro", "set_memory_x", "set_memory_rox"}, contract: "changes the pages' permissions",
			do: setMemory},

		{names: []string{"find_vm_area"},
			contract: "the struct of an area of pages, or NULL, as for what isn't vmalloc's", do: nothing},

		// The kernel's addresses begin at TASK_SIZE, 3 GiB mostly; those of scenarios at 2 GiB.
		{names: []string{"copy_from_kernel_nofault_allowed"}, contract: "on i386: whether an address is the kernel's",
			bits32: true, do: func(e *Linux, _ kapi.Context, a *args) uint64 {
				return b2u(arch.Addr(a[0]) >= e.k.places.user)
			}},

		// Symbols and tables.
		{names: []string{"kallsyms_lookup_size_offset"},
			contract: "the size of the symbol an address lies in, and the distance", needed: true,
			do: lookupSizeOffset},
		{names: []string{"kallsyms_lookup_name"}, contract: "the address of a symbol, or 0", needed: true,
			do: lookupName},
		{names: []string{"lookup_symbol_name"}, contract: "the name of the symbol that a kernel address lies in",
			do: lookupSymbolName},
		{names: []string{"kernel_text_address"},
			contract: "whether an address is text of the kernel, a module, or a slot", do: textAddress},
		{names: []string{"core_kernel_text"}, contract: "whether an address is text of the kernel itself",
			do: coreText},
		{names: []string{"in_gate_area_no_mm"}, contract: "whether an address is in the vsyscall page", do: nothing},
		{names: []string{"jump_label_text_reserved"}, contract: "whether a range has a jump label",
			do: reservedBy(jumplabel.Site)},
		{names: []string{"static_call_text_reserved"}, contract: "whether a range has a static call's site",
			do: reservedBy(staticcall.Site)},
		{names: []string{"ftrace_text_reserved"}, contract: "whether a range has a site of ftrace",
			do: reservedBy(ftrace.Site)},
		{names: []string{"alternatives_text_reserved"},
			contract: "whether a range has a lock prefix that is still rewritten", do: alternativeReserved},
		{names: []string{"find_bug"}, contract: "the entry of a BUG or WARN at an address", do: findBug},
		{names: []string{"is_cfi_trap"}, contract: "whether an address is the trap of a call through a pointer " +
			"to another type", do: isTrap},
		{names: []string{"search_exception_tables"}, contract: "the entry of the exception table of an address",
			do: searchExtable},
		{names: []string{"ftrace_location"}, contract: "the address of ftrace's site in a function, or 0",
			do: ftraceLocation},
		{names: []string{"ftrace_set_filter_ip"}, core: true,
			contract: "adds a site to those of an ftrace_ops, or takes it out; patches if it is registered",
			sleeps:   true, do: setFilterIP},
		{names: []string{"ftrace_set_filter_ips"}, core: true,
			contract: "likewise, all of several sites or none: (client, sites, how many, whether they go)",
			sleeps:   true, do: setFilterIPs},
		{names: []string{"ftrace_free_filter"}, core: true, contract: "a client that isn't registered wants all sites again",
			sleeps: true, do: freeFilter},
		{names: []string{"ftrace_regs_caller", "ftrace_caller"}, core: true,
			contract: "calls the functions of the ftrace_ops that want a site, and goes on where they say; " +
				"keeps the other registers", do: siteCalls, keeps: true},
		{names: []string{"register_ftrace_function"}, core: true,
			contract: "patches the sites of an ftrace_ops: they call its function", sleeps: true, do: registerFtrace},
		{names: []string{"unregister_ftrace_function"}, core: true, contract: "takes that back", sleeps: true,
			do: unregisterFtrace},
		{names: []string{"jump_label_lock"}, contract: "takes jump_label_mutex", sleeps: true,
			do: func(e *Linux, x kapi.Context, a *args) uint64 {
				if e.d.LabelMutex != nil {
					e.d.LabelMutex.Lock(x)
				}
				return 0
			}},
		{names: []string{"jump_label_unlock"}, contract: "lets jump_label_mutex go",
			do: func(e *Linux, x kapi.Context, a *args) uint64 {
				if e.d.LabelMutex != nil {
					e.d.LabelMutex.Unlock(x)
				}
				return 0
			}},

		// Modules.
		{names: []string{"__module_text_address", "__module_address"},
			contract: "the module that an address lies in, or NULL", do: moduleText},
		{names: []string{"is_module_text_address"}, contract: "whether an address is text of a module",
			do: isModuleText},
		{names: []string{"try_module_get"}, contract: "whether a module could be held", do: moduleGet},
		{names: []string{"module_put"}, contract: "lets a module go", do: modulePut},
		{names: []string{"register_module_notifier"}, contract: "calls back when modules come and go",
			do: registerModuleNotifier},
		{names: []string{"register_die_notifier"}, contract: "calls back at exceptions", do: nothing},

		// Entry, preemption.
		{names: []string{"irqentry_nmi_enter"}, contract: "counts an NMI",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.count(x, nmiAndHardirq); return 0 }},
		{names: []string{"irqentry_nmi_exit"}, contract: "ends it",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.count(x, -nmiAndHardirq); return 0 }},
		{names: []string{"ct_nmi_enter", "ct_nmi_exit"}, on: &portARM,
			contract: "RCU watches the CPU, or no longer has to: here it always does", do: nothing},
		{names: []string{"notify_die"},
			contract: "asks the die chain: uprobes of what user mode takes, a debugger of what the kernel does",
			do:       notifyDie},
		{names: []string{"irqentry_enter_from_user_mode"}, contract: "the CPU comes from user mode", do: nothing},
		{names: []string{"tick_nohz_user_enter_prepare", "arch_exit_to_user_mode_prepare"},
			contract: "what a return to user mode does before: the machine has no such state", do: nothing},
		{names: []string{"irqentry_exit_to_user_mode"},
			contract: "does what is to be done before the task goes on in user mode: the machine does it", do: nothing},
		{names: []string{"preempt_schedule_thunk", "preempt_schedule_notrace_thunk", "preempt_schedule",
			"preempt_schedule_notrace"}, contract: "gives the CPU to another task",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.d.Guest.Resched(x); return 0 }, keeps: true},
		{names: []string{"__cond_resched", "__SCT__cond_resched", "__SCT__might_resched"},
			contract: "gives the CPU to another task that waits, in a kernel without full preemption", do: nothing},

		// Functions that only debug builds call. kpsim has properties of its own for locks and
		// contexts; lockdep is as it is after its first report.
		{names: []string{"__might_resched", "__might_sleep"}, contract: "warns where the caller may not sleep",
			do: mightSleep},
		{names: []string{"preempt_count_add"}, contract: "counts preempt_disable",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.count(x, int(int32(a[0]))); return 0 }},
		{names: []string{"preempt_count_sub"}, contract: "counts it back",
			do: func(e *Linux, x kapi.Context, a *args) uint64 { e.count(x, -int(int32(a[0]))); return 0 }},
		{names: []string{"debug_smp_processor_id"}, contract: "the CPU's number",
			do: func(_ *Linux, x kapi.Context, _ *args) uint64 { return uint64(x.CPU()) }},
		{names: []string{"__this_cpu_preempt_check"},
			contract: "would warn where the CPU may change: kpsim doesn't look", do: nothing},
		{names: []string{"debug_lockdep_rcu_enabled"}, contract: "whether lockdep looks after RCU", do: nothing},
		{names: []string{"lock_is_held_type"}, contract: "whether the task has a lock, or -1: lockdep doesn't know",
			do: func(*Linux, kapi.Context, *args) uint64 { return 0xffffffff }},
		{names: []string{"rcu_read_lock_held", "rcu_read_lock_any_held", "rcu_read_lock_sched_held"},
			contract: "whether the CPU is in a section of RCU, as far as lockdep knows",
			do:       func(*Linux, kapi.Context, *args) uint64 { return 1 }},
		{names: []string{"lockdep_rcu_suspicious"}, contract: "warns, and goes on: (file, line, text)", do: suspicious},
		{names: []string{"lock_acquire", "lock_release", "lockdep_init_map_type", "lockdep_hardirqs_on",
			"lockdep_hardirqs_off", "lockdep_hardirqs_on_prepare",
			"trace_hardirqs_on", "trace_hardirqs_off", "trace_hardirqs_on_prepare", "trace_hardirqs_off_finish",
			"init_timer_key"}, contract: "tells lockdep", do: nothing},

		// Tracing and messages of the kernel.
		{names: []string{"perf_event_text_poke", "perf_event_ksymbol"}, contract: "tells tracers", do: nothing},
		{names: []string{"_printk", "printk", "__warn_printk"}, contract: "prints", varied: true, do: printk},
		{names: []string{"die"}, contract: "the kernel dies", do: die},
		{names: []string{"__stack_chk_fail"}, contract: "the kernel dies: a stack's canary was overwritten",
			do: stackSmashed},
		{names: []string{"__WARN_trap"}, contract: "warns of what an entry of the table of bugs says, and goes on",
			do: warnTrap},
		{names: []string{"__ubsan_handle_out_of_bounds"}, contract: "warns, and goes on",
			do: undefined("an index is out of bounds")},
		{names: []string{"__ubsan_handle_shift_out_of_bounds"}, contract: "likewise",
			do: undefined("a shift is out of bounds")},
		{names: []string{"__ubsan_handle_load_invalid_value"}, contract: "likewise",
			do: undefined("a bool or an enum has no value of its type")},
		{names: []string{"__ubsan_handle_divrem_overflow"}, contract: "likewise",
			do: undefined("a division overflows")},
		{names: []string{"__fortify_panic", "fortify_panic"},
			contract: "the kernel dies: a copy is larger than what it is to", do: overrun},
		{names: []string{"__dynamic_pr_debug"}, contract: "prints, where that is switched on", varied: true,
			do: nothing},
		{names: []string{"mem_dump_obj"}, contract: "prints what memory is", do: nothing},
		{names: []string{"kgdb_ll_trap"}, contract: "asks a debugger before kprobes: none is connected", do: nothing},
		{names: []string{"kgdb_has_hit_break"}, contract: "whether a debugger's breakpoint stands at an address",
			do: hasHitBreak},
		{names: []string{"kstrtobool_from_user"}, contract: "reads what a user has written: (text, size, where to)",
			do: writtenBool},
		{names: []string{"_copy_from_user"}, contract: "reads what a user has written: (where to, text, size)",
			do: writtenText},
		{names: []string{"__check_object_size"},
			contract: "dies if a copy isn't within an object: kpsim's users ask for less",
			do:       nothing},
		{names: []string{"proc_dointvec_minmax"},
			contract: "reads what a user has written to a sysctl: (table, write, …)", do: writtenInt},
		{names: []string{"__register_sysctl_init"}, contract: "adds a sysctl", do: nothing},
	})
}

func nothing(*Linux, kapi.Context, *args) uint64 { return 0 }

// Served reports whether a service exists for a function of that name.
func Served(name string) bool {
	for i := range boundary {
		if s := &boundary[i]; s.do != nil && slices.Contains(s.names, name) {
			return true
		}
	}
	return false
}
