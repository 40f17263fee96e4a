// Package kernel is the kernel services that text patching rests on: mutexes,
// RCU by what it waits for, stop_machine, the text-poke family, delayed work,
// the notifier chains of exceptions, executable memory, symbols, modules that are
// loaded and unloaded. Beside those it rewrites lock prefixes in text,
// and puts alternatives there. It implements kapi on the machine of smp.
//
// What it is not: it knows nothing of probes.
//
// Its rule: routines are linear Go and read like kernel source; a numbered
// protocol has its steps in the doc comment and in the body.
//
// Lock order, outermost first:
//
//	cpu_add_remove_lock     a CPU comes (hotplug.go, cpuhp.go)
//	kprobe_mutex            (kprobes)
//	  cpu_hotplug_lock      read by a task that patches text, written while a CPU comes
//	  ftrace_lock           a batch of sites
//	  static_call_mutex
//	  text_mutex            each store to live text
//	    stop_cpus_mutex     stop_machine
//
// A module's text is in pages that come and go (module.go): a CPU that runs
// text that is gone, or writes to it, takes a page fault that no handler
// resolves. Its notifiers run with no lock held. A batch of rewrites (poke.go)
// has three syncs for all of them; a CPU that hits one of its breakpoints does
// what the new instruction does.
//
// Stacks (stacks.go) are looked at as they lie in memory, word by word: what looks like
// an address counts as one. A page fault on data that is away (pager.go) sleeps where it
// may, and is no atomic context. Waits for works and grace periods, and for locks that
// are held, are told to the monitors alone (smp.Ctx.Tell).
//
// cond_resched is what the preemption model makes of it. none, voluntary: it schedules,
// a quiescent state of every flavour. dynamic: if another task wants the CPU the caller
// is preempted, which is none for tasks-RCU. full, lazy: it does nothing.
// cond_resched_tasks_rcu_qs is a quiescent state for tasks-RCU first.
//
// A grace period that has lasted for Config.Stall cycles is reported at a tick, once
// (RCU.stalls). It doesn't wait for CPUs that idle when it begins.
//
// A CPU is dead, online, or online and active (cpuhp.go). Active ones have tasks placed on
// them; online ones answer IPIs and take part in stop_machine. RCU has a set of its own: a
// CPU is in it before it is online, and until it has died.
//
// A routine reads and writes its cells by the verbs that Linux has at that place, and
// where Linux keeps an order a barrier is defined, at the top of the file, with its source
// (kapi.DefineBarrier). The routine's own store may still be in its CPU's buffer, where Peek
// doesn't see it. Peek is for conditions, monitors and reports.
//
// What is always sequentially consistent, whatever memory is: what grace periods wait for,
// and the nesting of sections; stop_machine's function; which call of sync_core a CPU has
// served; the lists of executable memory, of which a step of a locked instruction reads and
// writes all; symbols, and which of them are there; the pages that are mapped; who holds a
// lock, to AssertHeld. Linux counts readers of cpu_hotplug_lock in a word of each CPU's own,
// without a lock prefix: here they are counted in one, by locked instructions.
//
// Its limits: a module's data doesn't go; its memory is freed by the task that loaded
// it, not by a worker; no TLB is modelled, but the IPIs that flush it are sent. Ftrace
// has one trampoline, for all clients of a site. Lock prefixes are rewritten as if no
// other CPU were online. A CPU that comes or goes does so by the steps in cpuhp.go; those of
// them fail that a caller names. Of 2.6 tasks leave with the machine stopped, as since 2.6.38,
// not when the CPU is dead. Of per-CPU memory there is what
// percpu.go lists, and no task_struct; a count of preempt_disable that text makes keeps
// the CPU from being given away, but counting down again doesn't schedule.
package kernel
