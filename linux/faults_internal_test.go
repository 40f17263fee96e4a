package linux

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Fault is one way in which a service of the boundary is broken on purpose.
type Fault struct {
	Row   string   // the first name of its row
	Names []string // what is broken, nil: all of the row
	Says  string   // how, for people
	With  func(do doing, e *Linux, x kapi.Context, a *args) uint64
	Equal string // why nothing can tell it from the service, "": a test could
	Miss  string // why none does, "": one has to
	Where string // the scenario that shows it, in many runs; "": any
	Dying string // what makes the kernel die, which is noticed without the fault; "": nothing
}

// A doing is what a service does.
type doing = func(e *Linux, x kapi.Context, a *args) uint64

// Services are the names of what it breaks.
func (f *Fault) Services() []string {
	if f.Names != nil {
		return f.Names
	}
	return rowOf(f.Row).names
}

// Faulty returns the kernel with a fault, and how many services it concerns. It shares
// all else with k.
func (k *Kernel) Faulty(f *Fault) (*Kernel, int) {
	names := f.Services()
	return k.instead(func(s *service, do doing) doing {
		if !slices.Contains(names, s.name) {
			return nil
		}
		return func(e *Linux, x kapi.Context, a *args) uint64 { return f.With(do, e, x, a) }
	})
}

// Counting returns the kernel with services that call count with their names first.
func (k *Kernel) Counting(count func(name string)) *Kernel {
	counting, _ := k.instead(func(s *service, do doing) doing {
		return func(e *Linux, x kapi.Context, a *args) uint64 {
			count(s.name)
			return do(e, x, a)
		}
	})
	return counting
}

// instead returns a kernel whose services do something else; nil: what they did.
func (k *Kernel) instead(with func(s *service, do doing) doing) (*Kernel, int) {
	c, n := *k, 0
	c.services = slices.Clone(k.services)
	for i, s := range c.services {
		if s.watch != nil || s.do == nil {
			continue
		}
		if do := with(s, s.do); do != nil {
			other := *s.served
			other.do = do
			c.services[i] = &service{name: s.name, served: &other}
			n++
		}
	}
	return &c, n
}

// A Service is a row of the boundary, for people.
type Service struct {
	Names    []string
	Contract string
}

// Boundary returns the rows.
func Boundary() (list []Service) {
	for i := range boundary {
		if boundary[i].on != nil || boundary[i].one || boundary[i].alone {
			continue // kernels for x86 are broken
		}
		list = append(list, Service{boundary[i].names, boundary[i].contract})
	}
	return list
}

// Dying returns a kernel that does what is deadly: "int3", a breakpoint without an owner
// stands where a probe is; "canary", the canary of a CPU's stacks changes.
func (k *Kernel) Dying(how string) *Kernel {
	dying, _ := k.instead(func(s *service, do doing) doing {
		return func(e *Linux, x kapi.Context, a *args) uint64 {
			switch {
			case how == "int3" && s.name == "mutex_unlock" && len(e.users.list) > 0 && e.users.list[0].here:
				e.d.Text.Write(x, e.users.list[0].Addr+1, []byte{0xcc})
			case how == "canary" && !e.booting:
				was, _ := x.Memory().Load(e.d.Guest.PerCPU(x.CPU(), canary), 8)
				x.Memory().Store(e.d.Guest.PerCPU(x.CPU(), canary), 8, was+1)
			}
			return do(e, x, a)
		}
	})
	return dying
}

// canary is where a CPU has it (fixed_percpu_data).
const canary = 40

func rowOf(name string) *served {
	for i := range boundary {
		if slices.Contains(boundary[i].names, name) {
			return &boundary[i]
		}
	}
	panic("no row of the boundary has " + name)
}

// answers is a service that does nothing, and answers so.
func answers(v uint64) func(doing, *Linux, kapi.Context, *args) uint64 {
	return func(doing, *Linux, kapi.Context, *args) uint64 { return v }
}

// refused is one that isn't there.
func refused(_ doing, e *Linux, x kapi.Context, _ *args) uint64 {
	e.refuse(x, "the service isn't there")
	return 0
}

func twice(do doing, e *Linux, x kapi.Context, a *args) uint64 {
	do(e, x, a)
	return do(e, x, a)
}

// then answers something else than the service did.
func then(v uint64) func(doing, *Linux, kapi.Context, *args) uint64 {
	return func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
		do(e, x, a)
		return v
	}
}

// at does nothing for one mutex.
func at(name string) func(doing, *Linux, kapi.Context, *args) uint64 {
	return func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
		if m := e.k.at(name); m != 0 && arch.Addr(a[0]) == m+mutexIn(e.k, name) {
			return 0
		}
		return do(e, x, a)
	}
}

// changed has the service called with one argument changed.
func changed(i int, to func(v uint64) uint64) func(doing, *Linux, kapi.Context, *args) uint64 {
	return func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
		b := *a
		b[i] = to(b[i])
		return do(e, x, &b)
	}
}

// shorter hands out 16 bytes less than argument i asks for.
func shorter(i int) func(doing, *Linux, kapi.Context, *args) uint64 {
	return changed(i, func(v uint64) uint64 {
		if v < 24 {
			return v
		}
		return v - 16
	})
}

// dirty is a service that doesn't zero what it hands out.
func dirty(flags int) func(doing, *Linux, kapi.Context, *args) uint64 {
	return changed(flags, func(v uint64) uint64 { return v &^ gfpZero })
}

// node is a service of kmalloc_node while __vmalloc_node, whose second argument is an
// alignment of 8, has no memory.
func node(with func(doing, *Linux, kapi.Context, *args) uint64) func(doing, *Linux, kapi.Context, *args) uint64 {
	return func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
		if a[1] == 8 {
			return 0
		}
		return with(do, e, x, a)
	}
}

// minus is -errno.
func minus(errno uint32) uint64 { return negative(errno) }

const (
	ebusy = 16
)

var (
	mutexCalls = []string{"mutex_lock", "mutex_unlock"}
	hotplug    = []string{"cpus_read_lock", "cpus_read_unlock"}
	labels     = []string{"jump_label_lock", "jump_label_unlock"}
	sections   = []string{"__rcu_read_lock", "__rcu_read_unlock"}
	exceptions = []string{"irqentry_nmi_enter", "irqentry_nmi_exit"}
	held       = []string{"try_module_get", "module_put"}
	nodes      = []string{"__kmalloc_node_noprof", "__vmalloc_node_noprof"}
)

// elsewhere are rows that kernels of other series call, or that were built otherwise.
var elsewhere = []string{
	"__might_resched", "preempt_count_add", "preempt_count_sub", "debug_smp_processor_id", "__this_cpu_preempt_check",
	"debug_lockdep_rcu_enabled", "lock_is_held_type", "rcu_read_lock_held", "lockdep_rcu_suspicious", "lock_acquire",
	"kthread_create_on_node", "wake_up_process", "kthread_should_stop", "__init_waitqueue_head", "__var_waitqueue",
	"init_wait_entry", "prepare_to_wait_event", "finish_wait", "schedule", "schedule_timeout", "__wake_up",
	"wake_up_var",
	"find_vm_area", "__WARN_trap", "__ubsan_handle_out_of_bounds", "__ubsan_handle_shift_out_of_bounds",
	"__ubsan_handle_load_invalid_value", "__ubsan_handle_divrem_overflow", "__fortify_panic", "mem_dump_obj",
	"kgdb_ll_trap", "kgdb_has_hit_break", "on_each_cpu", "rcu_read_unlock_strict", "__init_swait_queue_head",
	"wait_for_completion", "complete", "completion_done", "__dynamic_pr_debug", "_copy_from_user",
	"__check_object_size", "is_cfi_trap", "tick_nohz_user_enter_prepare",
}

// faults are those that there are, beside the one that each row has: it isn't there.
var faults = []Fault{
	{Row: "mutex_lock", Says: "it isn't taken", With: answers(0)},
	{Row: "mutex_lock", Names: mutexCalls, Says: "no mutex is taken or let go", With: answers(0)},
	{Row: "mutex_lock", Names: mutexCalls, Says: "kprobe_mutex isn't taken or let go", With: at("kprobe_mutex")},
	{Row: "mutex_lock", Names: mutexCalls, Says: "text_mutex isn't taken or let go", With: at("text_mutex")},
	{Row: "mutex_lock", Names: mutexCalls, Says: "the mutex of slots isn't taken or let go",
		Miss: "kprobe_mutex keeps most calls apart; two counts of a page's slots would have to be written at once, and a later page be freed by them", With: at("kprobe_insn_slots")},
	{Row: "mutex_lock", Names: mutexCalls, Says: "the mutex of detours isn't taken or let go", Miss: "as that of slots",
		With: at("kprobe_optinsn_slots")},
	{Row: "mutex_unlock", Says: "it is kept", With: answers(0)},
	{Row: "mutex_unlock", Says: "it is let go twice", With: twice},
	{Row: "cpus_read_lock", Says: "it isn't taken", With: answers(0)},
	{Row: "cpus_read_lock", Names: hotplug, Says: "it isn't taken or let go", With: answers(0)},
	{Row: "cpus_read_lock", Says: "it is taken twice", With: twice},
	{Row: "cpus_read_unlock", Says: "it is kept", With: answers(0)},
	{Row: "__rcu_read_lock", Says: "no section begins", With: answers(0)},
	{Row: "__rcu_read_lock", Names: sections, Says: "there are no sections",
		Miss: "a page of slots would have to be freed while a task is at its entry of the list", With: answers(0)},
	{Row: "__rcu_read_unlock", Says: "the section never ends", With: answers(0)},
	{Row: "rcu_is_watching", Says: "it isn't", With: answers(0)},
	{Row: "synchronize_rcu", Says: "it doesn't wait", With: answers(0)},
	{Row: "synchronize_rcu_tasks", Says: "it doesn't wait", With: answers(0)},
	{Row: "synchronize_rcu_tasks", Says: "it waits as synchronize_rcu does", Where: "second-instruction",
		With: func(_ doing, e *Linux, x kapi.Context, a *args) uint64 { return synchronizeRCU(e, x, a) }},
	{Row: "synchronize_rcu_tasks_rude", Says: "it doesn't wait",
		Equal: "synchronize_rcu_tasks, which comes after it, waits for tasks that run, too", With: answers(0)},
	{Row: "call_rcu_tasks", Says: "it never calls back", With: answers(0)},
	{Row: "call_rcu_tasks", Says: "it calls back twice", With: twice},
	{Row: "smp_call_function", Says: "no CPU calls the function",
		Equal: "it orders what the CPU reads, which happens in order", With: answers(0)},
	{Row: "ftrace_bug", Says: "it isn't there",
		Miss: "a WARN comes before it, which ends the run", With: refused},
	{Row: "__mutex_init", Says: "it answers garbage", Equal: "it answers nothing", With: answers(poison)},
	{Row: "set_memory_ro", Says: "trampolines of ftrace are never executable", Where: "ftrace-trampoline",
		With: answers(0)},
	{Row: "call_rcu", Says: "it never calls back", With: answers(0)},
	{Row: "call_rcu", Says: "it calls back at once", Miss: "what a return probe loses isn't looked for",
		With: func(_ doing, e *Linux, x kapi.Context, a *args) uint64 { e.call(x, arch.Addr(a[1]), a[0]); return 0 }},
	{Row: "call_rcu", Says: "it calls back twice", With: twice},
	{Row: "kvfree_call_rcu", Says: "it never frees", With: answers(0)},
	{Row: "kvfree_call_rcu", Says: "it frees at once",
		Miss: "a task would have to be at the freed entry, the last of thousands, as it walks the blacklist",
		With: func(_ doing, e *Linux, x kapi.Context, a *args) uint64 {
			head := a[1]
			if head < page {
				head = a[0] - head
			}
			e.memory.free(x, head, e.caller(x))
			return 0
		}},
	{Row: "kvfree_call_rcu", Says: "it frees twice", With: twice},
	{Row: "queue_delayed_work_on", Says: "the work isn't queued", With: answers(0)},
	{Row: "queue_delayed_work_on", Says: "it is queued again while it is pending",
		Equal: "the work runs once more, and finds nothing to do",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			v := do(e, x, a)
			e.works.of(a[2]).Queue(x)
			return v
		}},
	{Row: "flush_delayed_work", Says: "it doesn't wait", With: answers(0)},
	{Row: "on_each_cpu_cond_mask", Says: "no CPU calls the function", With: answers(0)},
	{Row: "on_each_cpu_cond_mask", Says: "only the CPU that asks calls it",
		With: func(_ doing, e *Linux, x kapi.Context, _ *args) uint64 { e.d.Sync.Self(x, e.poke.why()); return 0 }},
	{Row: "__text_poke", Says: "nothing is stored", With: func(_ doing, _ *Linux, _ kapi.Context, a *args) uint64 {
		return a[1]
	}},
	{Row: "__text_poke", Says: "a byte less is stored", With: changed(3, func(v uint64) uint64 {
		return max(v, 2) - 1
	})},
	{Row: "__text_poke", Says: "it is stored a byte further", With: changed(1, func(v uint64) uint64 { return v + 1 })},
	{Row: "__text_poke", Says: "it is stored a byte at a time",
		Equal: "behind a breakpoint, and in fresh memory, no order of stores shows",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			if arch.Addr(a[0]) == e.k.symbols.memset {
				return do(e, x, a)
			}
			for i := range a[3] {
				b := args{a[0], a[1] + i, a[2] + i, 1}
				do(e, x, &b)
			}
			return a[1]
		}},
	{Row: "__text_poke", Says: "the storing CPU isn't serialised",
		Equal: "each caller that changes text makes all CPUs serialise afterwards, its own too",
		With: func(_ doing, e *Linux, x kapi.Context, a *args) uint64 {
			b := e.poke.scratch[:min(a[3], page)]
			if arch.Addr(a[0]) == e.k.symbols.memset {
				v, _ := x.Memory().Load(arch.Addr(a[2]), 1)
				for i := range b {
					b[i] = byte(v)
				}
			} else {
				e.read(x, arch.Addr(a[2]), b)
			}
			e.d.Text.Write(x, arch.Addr(a[1]), b)
			return a[1]
		}},
	{Row: "__kmalloc", Says: "there is none: NULL", With: answers(0)},
	{Row: "__kmalloc", Says: "it is 16 bytes short", With: shorter(0)},
	{Row: "__kmalloc", Says: "it isn't zeroed", With: dirty(1)},
	{Row: "kmalloc_trace", Says: "there is none: NULL", With: answers(0)},
	{Row: "kmalloc_trace", Says: "it is 16 bytes short", With: shorter(2)},
	{Row: "kmalloc_trace", Says: "it isn't zeroed", With: dirty(1)},
	{Row: "__kmalloc_node_noprof", Names: nodes, Says: "it isn't there", With: node(refused)},
	{Row: "__kmalloc_node_noprof", Names: nodes, Says: "there is none, nor by __vmalloc_node: NULL", With: answers(0)},
	{Row: "__kmalloc_node_noprof", Names: nodes, Says: "it is 16 bytes short, when __vmalloc_node has none",
		With: node(shorter(0))},
	{Row: "__kmalloc_node_noprof", Names: nodes, Says: "it isn't zeroed, when __vmalloc_node has none",
		Equal: "objpool zeroes it", With: node(dirty(1))},
	{Row: "__vmalloc_node_noprof", Says: "there is none: NULL", Equal: "objpool takes memory of kmalloc_node then",
		With: answers(0)},
	{Row: "__vmalloc_node_noprof", Says: "it is 16 bytes short of what was asked for",
		With: func(_ doing, e *Linux, x kapi.Context, a *args) uint64 { return e.memory.alloc(x, a[0]-16, a[2]) }},
	{Row: "kfree", Says: "nothing is freed", With: answers(0)},
	{Row: "kfree", Says: "it is freed twice", With: twice},
	{Row: "module_alloc", Says: "there is none: NULL", With: answers(0)},
	{Row: "module_alloc", Says: "the same pages are handed out again",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			if len(e.memory.code) > 0 {
				return uint64(e.memory.code[0].at)
			}
			return do(e, x, a)
		}},
	{Row: "module_memfree", Says: "they are kept", Miss: "pages for code that stay aren't looked for",
		With: answers(0)},
	{Row: "module_memfree", Says: "they are taken back twice", With: twice},
	{Row: "cpu_wants_rethunk_at", Says: "each return is to be a jump", With: answers(1)},
	{Row: "callthunks_translate_call_dest", Says: "nothing is to be called: NULL", With: answers(0)},
	{Row: "callthunks_translate_call_dest", Says: "the next byte is to be called",
		With: func(_ doing, _ *Linux, _ kapi.Context, a *args) uint64 { return a[0] + 1 }},
	{Row: "set_memory_ro", Says: "it fails: -ENOMEM", Equal: "the kernel doesn't look at the answer",
		With: answers(minus(12))},
	{Row: "kallsyms_lookup_size_offset", Says: "no symbol is found", With: answers(0)},
	{Row: "kallsyms_lookup_size_offset", Says: "the distance is a byte more",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			v := do(e, x, a)
			if was, ok := x.Memory().Load(arch.Addr(a[2]), 8); a[2] != 0 && ok {
				x.Memory().Store(arch.Addr(a[2]), 8, was+1)
			}
			return v
		}},
	{Row: "kallsyms_lookup_size_offset", Says: "the size is 4",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			v := do(e, x, a)
			if a[1] != 0 {
				x.Memory().Store(arch.Addr(a[1]), 8, 4)
			}
			return v
		}},
	{Row: "kallsyms_lookup_name", Says: "no symbol is found", With: answers(0)},
	{Row: "kallsyms_lookup_name", Says: "the address is a byte more",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 { return do(e, x, a) + 1 }},
	{Row: "lookup_symbol_name", Says: "no symbol is found", With: answers(minus(34))},
	{Row: "lookup_symbol_name", Says: "each name is that of a type's preamble",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			v := do(e, x, a)
			e.write(x, arch.Addr(a[1]), []byte("__cfi_f\x00"))
			return v
		}},
	{Row: "kernel_text_address", Says: "no address is text", With: answers(0)},
	{Row: "kernel_text_address", Says: "each address is text", With: answers(1)},
	{Row: "core_kernel_text", Says: "no address is text of the kernel", With: answers(0)},
	{Row: "core_kernel_text", Says: "each address is text of the kernel", With: answers(1)},
	{Row: "in_gate_area_no_mm", Says: "each address is", With: answers(1)},
	{Row: "jump_label_text_reserved", Says: "no range has one", With: answers(0)},
	{Row: "jump_label_text_reserved", Says: "each range has one", With: answers(1)},
	{Row: "static_call_text_reserved", Says: "no range has one", With: answers(0)},
	{Row: "static_call_text_reserved", Says: "each range has one", With: answers(1)},
	{Row: "ftrace_text_reserved", Says: "no range has one",
		Equal: "a site is where a function begins, and a probe there goes through ftrace", With: answers(0)},
	{Row: "ftrace_text_reserved", Says: "each range has one", With: answers(1)},
	{Row: "alternatives_text_reserved", Says: "no range has one",
		Miss: "a task would have to stand where a jump is written over a lock prefix, in one of few runs",
		With: answers(0)},
	{Row: "alternatives_text_reserved", Says: "each range has one", With: answers(1)},
	{Row: "find_bug", Says: "there is none", With: answers(0)},
	{Row: "find_bug", Says: "there is one at each address",
		With: func(_ doing, _ *Linux, _ kapi.Context, a *args) uint64 { return a[0] }},
	{Row: "search_exception_tables", Says: "there is none", With: answers(0)},
	{Row: "search_exception_tables", Says: "there is one at each address",
		With: func(_ doing, _ *Linux, _ kapi.Context, a *args) uint64 { return a[0] }},
	{Row: "ftrace_location", Says: "there is none", With: answers(0)},
	{Row: "ftrace_location", Says: "it is the address itself",
		With: func(_ doing, _ *Linux, _ kapi.Context, a *args) uint64 { return a[0] }},
	{Row: "ftrace_set_filter_ip", Says: "nothing is added or taken out", With: answers(0)},
	{Row: "ftrace_set_filter_ip", Says: "it fails: -EINVAL", With: answers(minus(einval))},
	{Row: "ftrace_set_filter_ips", Says: "nothing is added", With: answers(0)},
	{Row: "ftrace_set_filter_ips", Says: "it fails: -EINVAL", With: answers(minus(einval))},
	{Row: "ftrace_free_filter", Says: "the filter is kept", With: answers(0)},
	{Row: "register_ftrace_function", Says: "nothing is patched", With: answers(0)},
	{Row: "register_ftrace_function", Says: "it fails: -EBUSY", With: answers(minus(ebusy))},
	{Row: "unregister_ftrace_function", Says: "nothing is taken back", With: answers(0)},
	{Row: "jump_label_lock", Says: "it isn't taken", With: answers(0)},
	{Row: "jump_label_lock", Names: labels, Says: "it isn't taken or let go",
		Equal: "no table of labels comes or goes in a run while a probe is registered", With: answers(0)},
	{Row: "jump_label_unlock", Says: "it is kept", With: answers(0)},
	{Row: "__module_text_address", Says: "no module is found", With: answers(0)},
	{Row: "is_module_text_address", Says: "it isn't there", Miss: "6.1.192 and 6.12 don't call it", With: refused},
	{Row: "is_module_text_address", Says: "no address is", Miss: "6.1.192 and 6.12 don't call it", With: answers(0)},
	{Row: "is_module_text_address", Says: "each address is", Miss: "6.1.192 and 6.12 don't call it", With: answers(1)},
	{Row: "try_module_get", Says: "it can't be held", With: answers(0)},
	{Row: "try_module_get", Says: "it isn't held, though it says so", With: answers(1)},
	{Row: "try_module_get", Names: held, Says: "it isn't held, and isn't let go", With: answers(1)},
	{Row: "module_put", Says: "it isn't let go", With: answers(0)},
	{Row: "register_module_notifier", Says: "it is never called back", With: answers(0)},
	{Row: "ftrace_regs_caller", Says: "no function is called", With: answers(0)},
	{Row: "ftrace_regs_caller", Says: "the functions are called twice", With: twice},
	{Row: "register_die_notifier", Says: "it fails: -EINVAL", With: answers(minus(einval))},
	{Row: "irqentry_nmi_enter", Says: "nothing is counted", With: answers(0)},
	{Row: "irqentry_nmi_enter", Names: exceptions, Says: "nothing is counted or ended",
		Equal: "interrupts are off in the handler, which forbids the same", With: answers(0)},
	{Row: "irqentry_nmi_exit", Says: "it never ends", With: answers(0)},
	{Row: "notify_die", Says: "no debugger is asked", With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
		if !e.d.Traps.FromUser(x) {
			return 0
		}
		return do(e, x, a)
	}},
	{Row: "notify_die", Dying: "int3", Says: "the chain says that it was its own: NOTIFY_STOP",
		With: answers(notifyStop)},
	{Row: "preempt_schedule_thunk", Says: "the CPU isn't given up", Equal: "the task goes on, and is preempted later",
		With: answers(0)},
	{Row: "preempt_schedule_thunk", Says: "registers are lost",
		Miss: "only the end of a detour's handlers comes there, which needs none of them",
		With: func(do doing, e *Linux, x kapi.Context, a *args) uint64 {
			v := do(e, x, a)
			for _, c := range e.k.clobbered {
				x.Regs().R[c] = poison
			}
			x.Regs().R[e.k.arch.Result] = poison
			return v
		}},
	{Row: "__cond_resched", Says: "it sleeps", Equal: "it may",
		With: func(_ doing, _ *Linux, x kapi.Context, _ *args) uint64 { x.Sleep(kapi.Yield); return 0 }},
	{Row: "perf_event_text_poke", Says: "it answers garbage",
		Equal: "it answers nothing, and no tracer of these events is there", With: answers(poison)},
	{Row: "_printk", Says: "nothing is printed", With: answers(0)},
	{Row: "die", Dying: "int3", Says: "the kernel goes on", With: answers(0)},
	{Row: "__stack_chk_fail", Dying: "canary", Says: "the kernel goes on", With: answers(0)},
	{Row: "kstrtobool_from_user", Says: "nothing is written", With: answers(0)},
	{Row: "kstrtobool_from_user", Says: "it fails: -EINVAL", With: answers(minus(einval))},
	{Row: "proc_dointvec_minmax", Says: "nothing is written", With: answers(0)},
	{Row: "proc_dointvec_minmax", Says: "it fails: -EINVAL",
		Miss: "the kernel hands it to the writer, and no operation of a scenario asks for it",
		With: then(minus(einval))},
	{Row: "__register_sysctl_init", Says: "it answers garbage", Equal: "it answers nothing", With: answers(poison)},
}

// Faults returns them: of each row first that it isn't there.
func Faults() (list []Fault) {
	for i := range boundary {
		s := &boundary[i]
		if s.on != nil || s.one || s.alone {
			continue
		}
		if s.do == nil || s.bits32 { // the faults are of kernels for x86-64
			continue
		}
		absent := Fault{Row: s.names[0], Says: "it isn't there", With: refused}
		if slices.Contains(elsewhere, absent.Row) {
			absent.Miss = "6.1.192 and 6.12 don't call it"
		}
		var ways []Fault
		for _, f := range faults {
			if f.Row == absent.Row {
				ways, absent.Dying = append(ways, f), f.Dying
			}
		}
		if len(ways) == 0 || ways[0].Says != absent.Says {
			list = append(list, absent)
		}
		list = append(list, ways...)
	}
	return list
}
