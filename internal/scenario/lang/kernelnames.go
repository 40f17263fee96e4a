package lang

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// ofKernel lists the kernel's own names of what the language has words for, but for operations,
// steps and sources, whose rows have them: the function of the language, and those of kernels that do this.
var ofKernel = map[string][]string{
	"jump_label":  {"static_key", "static_branch", "DEFINE_STATIC_KEY_FALSE", "DEFINE_STATIC_KEY_TRUE"},
	"static_call": {"DEFINE_STATIC_CALL", "static_call_key"},
	"reserved":    {"NOKPROBE_SYMBOL", "within_kprobe_blacklist"},
	"fentry":      {"__fentry__", "mcount"},
	"task":        {"kthread_create", "kthread_run", "kthread"},
}

// kernels are the names of a function of the language in kernels, or of commands that do the same.
func kernels(verb string) []string {
	if k := act.Named(verb); k != nil {
		return k.Kernel
	}
	if k := scenario.StepNamed(verb); k != nil {
		return k.Kernel
	}
	for _, k := range scenario.SourceKinds {
		if k.Word == verb {
			return k.Kernel
		}
	}
	return ofKernel[verb]
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
	for _, v := range verbs() {
		if names := kernels(v); slices.Contains(names, name) || slices.Contains(names, turned) {
			return "did you mean " + brief(v) + "?"
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
