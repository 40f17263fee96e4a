package mutants

import (
	"fmt"
	"strings"

	"kpsim/kprobes"
)

// AsShipped is the name of all faults together that the kernels of a scenario's
// edition had, as far as we know of them.
const AsShipped = "as-shipped"

// A Fault is a mutant that an edition's kernels were shipped with.
type Fault struct {
	Edition  kprobes.Edition
	Mutant   string
	Scenario string // where it shows in that edition
	Property string // and which property must notice
}

// Shipped are the faults of the editions. What isn't here is no less interesting:
//
//   - Disarming without a sync (until 5.5): harmless in those kernels but in 2.6,
//     since a breakpoint that is gone is handled (removed_int3).
//   - The mark of a jump that goes before the jump (flag-early, until 5.5): harmless
//     as long as the patcher takes a jump away (unoptimize).
//   - A cancelled detour that is freed after an RCU grace period (cancel-rcu, 4.15
//     to 6.18): its memory isn't collected before more than a page of such are dirty,
//     so that it takes the garbage of others.
//   - Which locks the optimizer holds is a setting, order: each is right by itself.
var Shipped = []Fault{
	{kprobes.Edition26, "no-sync-arm", "no-sail-past", "no-sail-past"},
	{kprobes.Edition26, "byte-first", "no-sail-past", "owned-breakpoint"},
	{kprobes.Edition26, "ret-addr-kept", "return-siblings", "return-pairs"},
	{kprobes.Edition26, "empty-late", "return-frameless", "instances"},
	{kprobes.Edition26, "frame-unchecked", "return-frameless", "return-pairs"},
	{kprobes.Edition26, "lock-in-nmi", "return-nmi-locked", "locks"},
	{kprobes.Edition26, "post-by-list", "post-leaves", "post-called"},
	{kprobes.Edition415, "no-sync-arm", "no-sail-past", "no-sail-past"},
	{kprobes.Edition415, "enable-lost", "globally-off", "no-sail-past"},
	{kprobes.Edition415, "check-unlocked", "module-init", "text-agrees"},
	{kprobes.Edition415, "frame-unchecked", "return-frameless", "return-pairs"},
	{kprobes.Edition415, "reuse-disabled", "reuse-disabled", "text-restored"},
	{kprobes.Edition415, "disarm-lost", "switches", "all-off"},
	{kprobes.Edition415, "retry-lost", "neighbours", "optimized-again"},
	{kprobes.Edition415, "detour-post", "detour-post", "post-called"},
	{kprobes.Edition415, "cancel-rcu", "cancel-detour-pages", "no-use-after-free"},
	{kprobes.Edition415, "post-by-list", "post-leaves", "post-called"},
	{kprobes.Edition514, "jng-and", "function-at-work", "right-result"},
	{kprobes.Edition514, "holder-refs", "return-storm", "instances"},
	{kprobes.Edition514, "boost-post", "boosted-post", "post-called"},
	{kprobes.Edition514, "enable-lost", "globally-off", "no-sail-past"},
	{kprobes.Edition514, "check-unlocked", "module-init", "text-agrees"},
	{kprobes.Edition514, "reuse-disabled", "reuse-disabled", "text-restored"},
	{kprobes.Edition514, "disarm-lost", "switches", "all-off"},
	{kprobes.Edition514, "retry-lost", "neighbours", "optimized-again"},
	{kprobes.Edition514, "detour-post", "detour-post", "post-called"},
	{kprobes.Edition514, "cancel-rcu", "cancel-detour-pages", "no-use-after-free"},
	{kprobes.Edition514, "post-by-list", "post-leaves", "post-called"},
	{kprobes.Edition65, "boost-post", "boosted-post", "post-called"},
	{kprobes.Edition65, "enable-lost", "globally-off", "no-sail-past"},
	{kprobes.Edition65, "check-unlocked", "module-init", "text-agrees"},
	{kprobes.Edition65, "ftrace-by-post", "ftrace-probe", "no-sail-past"},
	{kprobes.Edition65, "reuse-disabled", "reuse-disabled", "text-restored"},
	{kprobes.Edition65, "disarm-lost", "switches", "all-off"},
	{kprobes.Edition65, "retry-lost", "neighbours", "optimized-again"},
	{kprobes.Edition65, "detour-post", "detour-post", "post-called"},
	{kprobes.Edition65, "cancel-rcu", "cancel-detour-pages", "no-use-after-free"},
	{kprobes.Edition65, "post-by-list", "post-leaves", "post-called"},
	{kprobes.Edition69, "objpool-last", "return-nmi", "instances"},
	{kprobes.Edition69, "boost-post", "boosted-post", "post-called"},
	{kprobes.Edition69, "enable-lost", "globally-off", "no-sail-past"},
	{kprobes.Edition69, "check-unlocked", "module-init", "text-agrees"},
	{kprobes.Edition69, "ftrace-by-post", "ftrace-probe", "no-sail-past"},
	{kprobes.Edition69, "reuse-disabled", "reuse-disabled", "text-restored"},
	{kprobes.Edition69, "disarm-lost", "switches", "all-off"},
	{kprobes.Edition69, "retry-lost", "neighbours", "optimized-again"},
	{kprobes.Edition69, "detour-post", "detour-post", "post-called"},
	{kprobes.Edition69, "cancel-rcu", "cancel-detour-pages", "no-use-after-free"},
	{kprobes.Edition69, "post-by-list", "post-leaves", "post-called"},
}

// ShippedIn returns the mutants that an edition's kernels were shipped with, as far
// as we know.
func ShippedIn(e kprobes.Edition) (names []string) {
	for _, f := range Shipped {
		if f.Edition == e {
			names = append(names, f.Mutant)
		}
	}
	return names
}

// releases are those in which the kernel had the faults of Shipped, as studied: from
// the commit that brought one to the last release before the commit that mended it.
var releases = map[string]string{
	"boost-post":      "5.13 and later",
	"byte-first":      "until 2.6.33",
	"cancel-rcu":      "4.15 to 6.18",
	"check-unlocked":  "2.6.30 and later",
	"detour-post":     "2.6.34 and later",
	"disarm-lost":     "2.6.38 and later",
	"empty-late":      "2.6.25 to 2.6.35",
	"enable-lost":     "2.6.30 and later",
	"frame-unchecked": "until 5.0",
	"ftrace-by-post":  "6.1, 6.12",
	"holder-refs":     "5.11 to 5.17",
	"jng-and":         "5.13 to 5.19",
	"lock-in-nmi":     "until 3.7",
	"no-sync-arm":     "until 5.5",
	"objpool-last":    "6.7 to 6.18",
	"post-by-list":    "2.6 and later",
	"ret-addr-kept":   "2.6",
	"retry-lost":      "2.6.38 to 6.19",
	"reuse-disabled":  "2.6.38 and later",
}

// Releases says in which releases the kernel had a fault of Shipped, "" of another.
func Releases(name string) string { return releases[name] }

// applyShipped brings back the faults of the wiring's edition.
func applyShipped(w *Wiring) {
	for _, f := range Shipped {
		if f.Edition == w.Edition {
			mu, _ := ByName(f.Mutant)
			mu.Apply(w)
		}
	}
}

// CheckShipped says why AsShipped changes nothing in an edition, nil if it does.
func CheckShipped(e kprobes.Edition) error {
	var have []string
	for _, f := range Shipped {
		if f.Edition == e {
			return nil
		}
		if n := len(have); n == 0 || have[n-1] != f.Edition.String() {
			have = append(have, f.Edition.String())
		}
	}
	return fmt.Errorf("no fault is known that edition %v was shipped with; of these there are: %s", e, strings.Join(have, ", "))
}
