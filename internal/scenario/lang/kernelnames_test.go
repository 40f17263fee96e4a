package lang

import (
	"kpsim/internal/scenario/act"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// own are functions of the language that kernels have no function for.
var own = []string{"call", "user", "expect", "spin", "release", "expect_text", "safepoint", "stop_outside", "move",
	"resume", "wait", "wait_outside", "on_fault"}

// Each function that a task may call is meant by its names in kernels, and by those with the words
// in another order.
func TestKernelNames(t *testing.T) {
	seen := make(map[string]string)
	for i := range language {
		verb := &language[i]
		for _, name := range verb.kernel {
			require.Empty(t, seen[name], "%s is of %s, too", name, verb.name())
			seen[name] = verb.name()
			require.NotContains(t, verbs(), name)
			_, err := Load("x.star", []byte("task(ops = ["+name+"(1)])\n"), nil)
			require.EqualError(t, err, "x.star:1:13: "+name+" isn't defined; did you mean "+verb.brief()+"?")
		}
	}
	for _, k := range act.All() {
		require.NotEqual(t, len(k.Kernel) > 0, slices.Contains(own, k.Word), "%s: what is it called in kernels?",
			k.Word)
	}
	for _, name := range byEngine {
		require.Empty(t, seen[name])
		require.Contains(t, suggestion(name), "the engine calls it by itself")
	}
	for name, want := range map[string]string{
		"register_kprobe": "did you mean register(k)?", "unregister_kprobe": "did you mean unregister(k)?",
		"enable_kprobe": "did you mean enable(k)?", "disable_kprobe": "did you mean disable(k)?",
		"kprobe_register": "did you mean register(k)?", "kprobe_unregister": "did you mean unregister(k)?",
		"RegisterAll": `did you mean "register_all"?`,
		"on_label":    `did you mean "label_on"?`, "optimized_wait": `did you mean "wait_optimized"?`,
		"regster":     `did you mean "register", "restore", "unregister"?`,
		"call_static": `did you mean "static_call"?`, "module_insmod": `did you mean "insmod", "module"?`,
		"static_key_enable": "did you mean label_on(l)?",
		"xyzzy":             `there are "scenario", "machine", "text", "code", "data" and 113 more`,
	} {
		require.Equal(t, want, suggestion(name), name)
	}
}

// A name that isn't called and isn't defined is one of the scenario's own, if that has any.
func TestOwnNames(t *testing.T) {
	const src = "scenario(\"x\", says = \"x\")\nf = text(\"f\", hex = \"90c3\")\nk = kprobe(\"k\", at = f)\n"
	for line, says := range map[string]string{
		"register(kk)": `there is "f", "k"`, "regster(k)": `did you mean "register", "restore", "unregister"?`,
		"call(ff)": `there is "f", "k"`,
	} {
		_, err := Load("x.star", []byte(src+"task(\"t\", cpu = 0, ops = ["+line+"])\n"), nil)
		require.ErrorContains(t, err, "isn't defined; "+says)
	}
}
