package mutants

import (
	"fmt"
	"strings"

	"kpsim/kprobes/rules"
)

// AsShipped is the name of all faults together that the kernels of a scenario's
// edition had, as far as we know of them.
const AsShipped = "as-shipped"

// A Fault is a mutant that an edition's kernels were shipped with.
type Fault struct {
	Edition  rules.Edition
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
var Shipped = shipped([]shipment{
	{rules.Edition26, "no-sync-arm byte-first ret-addr-kept empty-late frame-unchecked lock-in-nmi post-by-list"},
	{rules.Edition415, "no-sync-arm enable-lost check-unlocked frame-unchecked reuse-disabled disarm-lost retry-lost detour-post cancel-rcu post-by-list gone-traced"},
	{rules.Edition514, "jng-and holder-refs boost-post enable-lost check-unlocked reuse-disabled disarm-lost retry-lost detour-post cancel-rcu post-by-list gone-traced"},
	{rules.Edition65, "boost-post enable-lost check-unlocked ftrace-by-post reuse-disabled disarm-lost retry-lost detour-post cancel-rcu post-by-list"},
	{rules.Edition69, "objpool-last boost-post enable-lost check-unlocked ftrace-by-post reuse-disabled disarm-lost retry-lost detour-post cancel-rcu post-by-list"},
})

// A shipment is the faults of an edition's kernels.
type shipment struct {
	edition rules.Edition
	names   string
}

// shipped looks each up. In the editions that have it cancel-rcu shows only when the
// page of a detour is unmapped.
func shipped(list []shipment) (all []Fault) {
	for _, s := range list {
		for name := range strings.FieldsSeq(s.names) {
			m, _ := find(name)
			f := Fault{s.edition, name, m.Scenario, m.Property}
			if name == "cancel-rcu" {
				f.Scenario = "cancel-detour-pages"
			}
			all = append(all, f)
		}
	}
	return all
}

// ShippedIn returns the mutants that an edition's kernels were shipped with, as far
// as we know.
func ShippedIn(e rules.Edition) (names []string) {
	for _, f := range Shipped {
		if f.Edition == e {
			names = append(names, f.Mutant)
		}
	}
	return names
}

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
func CheckShipped(e rules.Edition) error {
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
