package lang

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
)

// ofKernel lists the kernel's own names of what the language has words for: the function of the
// language, and those of kernels, or of commands, that do this.
var ofKernel = []struct {
	verb  string
	names []string
}{
	{"register", []string{"register_kprobe", "register_kretprobe", "register_jprobe"}},
	{"unregister", []string{"unregister_kprobe", "unregister_kretprobe", "unregister_jprobe"}},
	{"enable", []string{"enable_kprobe", "enable_kretprobe", "enable_jprobe"}},
	{"disable", []string{"disable_kprobe", "disable_kretprobe", "disable_jprobe"}},
	{"register_all", []string{"register_kprobes", "register_kretprobes", "register_jprobes"}},
	{"unregister_all", []string{"unregister_kprobes", "unregister_kretprobes", "unregister_jprobes"}},
	{"wait_optimized", []string{"wait_for_kprobe_optimizer", "wait_for_kprobe_optimizer_locked"}},
	{"optimization", []string{"optimize_all_kprobes", "unoptimize_all_kprobes", "proc_kprobes_optimization_handler", "sysctl"}},
	{"enabled", []string{"arm_all_kprobes", "disarm_all_kprobes", "write_enabled_file_bool"}},
	{"label_on", []string{"static_key_enable", "static_branch_enable", "static_key_slow_inc", "static_branch_inc", "jump_label_update", "arch_jump_label_transform"}},
	{"label_off", []string{"static_key_disable", "static_branch_disable", "static_key_slow_dec", "static_branch_dec"}},
	{"jump_label", []string{"static_key", "static_branch", "DEFINE_STATIC_KEY_FALSE", "DEFINE_STATIC_KEY_TRUE"}},
	{"static_call", []string{"DEFINE_STATIC_CALL", "static_call_key"}},
	{"set_call", []string{"static_call_update", "arch_static_call_transform"}},
	{"insmod", []string{"init_module", "finit_module", "load_module", "do_init_module", "modprobe", "request_module"}},
	{"rmmod", []string{"delete_module", "free_module"}},
	{"tracer", []string{"register_ftrace_function", "unregister_ftrace_function", "ftrace_set_filter_ip"}},
	{"livepatch", []string{"klp_ftrace_handler"}},
	{"patch_func", []string{"klp_enable_patch", "klp_patch_object", "klp_patch_func"}},
	{"register_fprobe", []string{"register_fprobe_ips", "register_fprobe_syms", "bpf_kprobe_multi_link_attach"}},
	{"unregister_fprobe", []string{"bpf_kprobe_multi_link_release"}},
	{"register_direct", []string{"register_ftrace_direct", "register_ftrace_direct_multi"}},
	{"modify_direct", []string{"modify_ftrace_direct", "modify_ftrace_direct_multi"}},
	{"unregister_direct", []string{"unregister_ftrace_direct", "unregister_ftrace_direct_multi"}},
	{"unpatch_func", []string{"klp_disable_patch", "klp_unpatch_object", "klp_unpatch_func"}},
	{"apply_alternatives", []string{"alternative_instructions", "text_poke_early"}},
	{"smp_locks", []string{"alternatives_smp_lock", "alternatives_smp_unlock", "alternatives_enable_smp"}},
	{"hotplug", []string{"cpus_write_lock"}},
	{"set_breakpoint", []string{"dbg_set_sw_break", "kgdb_arch_set_breakpoint", "kgdb_breakpoint"}},
	{"clear_breakpoint", []string{"dbg_remove_sw_break", "kgdb_arch_remove_breakpoint"}},
	{"hit_uprobe", []string{"uprobe_register", "uprobe_notify_resume", "handle_swbp"}},
	{"offline", []string{"cpu_down"}},
	{"online", []string{"cpu_up"}},
	{"schedule", []string{"cond_resched", "preempt_schedule", "schedule_timeout"}},
	{"sleep", []string{"msleep", "might_sleep", "usleep_range"}},
	{"wait_signal", []string{"wait_for_completion", "wait_event", "down"}},
	{"signal", []string{"complete", "wake_up", "wake_up_process", "up"}},
	{"queue_work", []string{"schedule_work", "queue_delayed_work", "mod_delayed_work"}},
	{"flush_work", []string{"flush_delayed_work", "flush_workqueue"}},
	{"set_ip", []string{"instruction_pointer_set", "regs_set_return_ip"}},
	{"set_reg", []string{"regs_set_return_value", "regs_set_register"}},
	{"reserved", []string{"NOKPROBE_SYMBOL", "within_kprobe_blacklist"}},
	{"fentry", []string{"__fentry__", "mcount"}},
	{"task", []string{"kthread_create", "kthread_run", "kthread"}},
	{"preempt", []string{"smp_send_reschedule", "resched_curr"}},
}

// byEngine are functions of the kernel that the engine calls where the kernel does.
var byEngine = []string{
	"synchronize_rcu", "synchronize_sched", "synchronize_rcu_tasks", "call_rcu", "rcu_read_lock", "rcu_read_unlock",
	"text_poke", "text_poke_bp", "text_poke_sync", "text_poke_queue", "text_poke_finish", "smp_text_poke_batch_finish", "stop_machine", "sync_core",
	"on_each_cpu", "smp_call_function", "mutex_lock", "mutex_unlock", "kprobe_optimizer", "kick_kprobe_optimizer", "get_insn_slot", "free_insn_slot",
	"arm_kprobe", "disarm_kprobe", "optimize_kprobe", "unoptimize_kprobe",
}

// meant ends a message about a function that the language doesn't have: what the kernel's
// function of that name is here, or with its words turned round, or else the names that are near.
func meant(name string) string {
	words := strings.Split(name, "_")
	slices.Reverse(words)
	turned := strings.Join(words, "_")
	for _, k := range ofKernel {
		if slices.Contains(k.names, name) || slices.Contains(k.names, turned) {
			return "did you mean " + brief(k.verb) + "?"
		}
	}
	if slices.Contains(byEngine, name) {
		return "the engine calls it by itself, where the kernel does; no task has to"
	}
	return nearest.OrAll(name, verbs())
}

// brief is how a function is called at the least: register(k).
func brief(name string) string {
	i := slices.IndexFunc(language, func(v verb) bool { return v.name() == name })
	_, list, _ := strings.Cut(language[i].sig, "(")
	var needed []string
	for _, p := range strings.Split(strings.TrimSuffix(list, ")"), ", ") {
		if strings.Contains(p, "=") || strings.HasPrefix(p, "*") {
			break
		}
		needed = append(needed, p)
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(needed, ", "))
}
