package mutants

import "slices"

// ofJumps are the mutants that change nothing where no breakpoint becomes a jump: what they
// break is the optimizer, a detour, or how a jump is taken away. Those that change which
// probes are optimized aren't among them.
var ofJumps = []string{
	"no-quiesce", "rcu-for-tasks", "no-sync-unopt", "no-sync-unopt-2", "free-early", "lost-kick", "stack-regions", "ignore-sysctl",
	"cancel-rcu", "flag-early", "mark-kept", "detour-post", "detour-disabled", "detour-nested", "detour-preempt", "detour-stops",
	"optimize-disarmed", "disarm-lost", "saved-at-prepare", "retry-lost", "cancel-lost", "optimized-late", "never-again", "jump-kept", "arm-over",
}

// NeedsJump reports whether a mutant shows only where a breakpoint becomes a jump.
func NeedsJump(name string) bool { return slices.Contains(ofJumps, name) }
