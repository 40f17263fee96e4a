package lang

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
)

// byEngine are functions of the kernel that the engine calls where the kernel does.
var byEngine = []string{
	"synchronize_rcu", "synchronize_sched", "synchronize_rcu_tasks", "call_rcu", "rcu_read_lock", "rcu_read_unlock",
	"text_poke", "text_poke_bp", "text_poke_sync", "text_poke_queue", "text_poke_finish", "smp_text_poke_batch_finish",
	"stop_machine", "sync_core",
	"on_each_cpu", "smp_call_function", "mutex_lock", "mutex_unlock", "kprobe_optimizer", "kick_kprobe_optimizer",
	"get_insn_slot", "free_insn_slot",
	"arm_kprobe", "disarm_kprobe", "optimize_kprobe", "unoptimize_kprobe",
}

// suggestion ends a message about a function that the language doesn't have. It names the
// language's function for the kernel's function of that name, or of that name with its words in
// reverse order; otherwise the nearest names.
func suggestion(name string) string {
	words := strings.Split(name, "_")
	slices.Reverse(words)
	turned := strings.Join(words, "_")
	for i := range language {
		v := &language[i]
		if slices.Contains(v.kernel, name) || slices.Contains(v.kernel, turned) {
			return "did you mean " + v.brief() + "?"
		}
	}
	if slices.Contains(byEngine, name) {
		return "the engine calls it by itself, where the kernel does; no task has to"
	}
	return nearest.OrAll(name, verbs())
}

// brief is how a function is called at the least: register(k).
func (v *verb) brief() string {
	_, list, _ := strings.Cut(v.sig, "(")
	var needed []string
	for _, p := range strings.Split(strings.TrimSuffix(list, ")"), ", ") {
		if strings.Contains(p, "=") || strings.HasPrefix(p, "*") {
			break
		}
		needed = append(needed, p)
	}
	return fmt.Sprintf("%s(%s)", v.name(), strings.Join(needed, ", "))
}
