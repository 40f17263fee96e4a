package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/scenario"
)

// The library is what the documentation counts on: these names, each with a
// sentence, each no larger than a search can go through.
func TestBuiltin(t *testing.T) {
	want := []string{
		"cancel-detour", "flag-early", "full-rcu", "function-at-work", "globally-off", "hotplug", "jump-label-flip", "never-schedules",
		"never-schedules-stack-check", "nmi-on-text", "no-sail-past", "optimization-off", "page-fault-sleeps", "register-storm-full",
		"register-storm-none", "return-exit", "return-nmi", "return-probes", "return-storm", "safe-full", "safe-full-stop", "safe-none", "second-instruction", "second-instruction-preempted",
		"stack-check", "stack-check-detour", "stop-machine-alone", "stop-machine-free", "stop-machine-stale", "torn-jump",
		"torn-jump-bp",
	}
	require.Equal(t, want, scenario.BuiltinNames())

	for i, s := range scenario.Builtin() {
		require.Equal(t, want[i], s.Name)
		require.NotEmpty(t, s.Says, s.Name)
		require.NoError(t, scenario.Check(s), s.Name)

		again, err := scenario.Load("trace.star", []byte(s.String()), nil)
		require.NoError(t, err, s.String())
		require.Equal(t, s, again, s.Name)
	}
}

func TestLoadBuiltinUnknown(t *testing.T) {
	_, err := scenario.LoadBuiltin("safe-ful")
	require.EqualError(t, err, `no built-in scenario "safe-ful"; did you mean "safe-full"?`)
}
