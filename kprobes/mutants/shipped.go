package mutants

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"kpsim/kprobes/rules"
)

// AsShipped is the name of all faults together that the kernels of a scenario's
// edition had, as far as we know of them.
const AsShipped = "as-shipped"

// A ShippedMutant is a mutant that an edition's kernels were shipped with.
type ShippedMutant struct {
	Edition  rules.Edition
	Mutant   string
	Scenario string // where the mutant shows in that edition
	Property string // the property that must notice
}

// standsFor has the releases that editions stand for: for 2.6 the one whose source its settings were read from,
// otherwise the one that it is named after.
var standsFor = []struct {
	edition rules.Edition
	release Release
}{
	{rules.Edition26, 2<<20 | 6<<10 | 24},
	{rules.Edition415, 4<<20 | 15<<10},
	{rules.Edition514, 5<<20 | 14<<10},
	{rules.Edition65, 6<<20 | 5<<10},
	{rules.Edition69, 6<<20 | 9<<10},
}

// ReleaseOf returns the release that an edition stands for; ok is false if there is none.
func ReleaseOf(e rules.Edition) (r Release, ok bool) {
	for _, s := range standsFor {
		if s.edition == e {
			return s.release, true
		}
	}
	return 0, false
}

// Shipped has the faults of the editions: those that History has for the edition's release, that a mutant reproduces,
// and that can be noticed. A mutant that does more than the kernel did isn't among them:
//
//   - Disarming without a sync (until 5.5): harmless in those kernels but in 2.6,
//     since a breakpoint that is gone is handled (removed_int3).
//   - The flag of a jump cleared before the jump (flag-early, until 5.5): harmless
//     as long as the patcher removes a jump (unoptimize).
//   - Which locks the optimizer holds is a setting (order), and each value is correct.
//
// In the editions that have it cancel-rcu shows only when the page of a detour is unmapped.
var Shipped = sync.OnceValue(func() (all []ShippedMutant) {
	for _, s := range standsFor {
		history := History()
		for i := range history {
			name := history[i].shippedMutant(s.release)
			if name == "" || slices.ContainsFunc(all, func(f ShippedMutant) bool {
				return f.Edition == s.edition &&
					f.Mutant == name
			}) {
				continue
			}
			m, _ := find(name)
			f := ShippedMutant{s.edition, name, m.Scenario, m.Property}
			if name == "cancel-rcu" {
				f.Scenario = "cancel-detour-pages"
			}
			all = append(all, f)
		}
	}
	return all
})

// shippedMutant returns the mutant that reproduces f, or "" if r didn't have the fault or no mutant
// reproduces it.
func (f *Fix) shippedMutant(r Release) string {
	for _, b := range f.Back {
		if b.How == AMutant && f.In(r) {
			if m, ok := find(b.Name); ok && m.Equivalent == nil {
				return b.Name
			}
		}
	}
	return ""
}

// missingReason says why --as-shipped doesn't bring the fault back.
func (f *Fix) missingReason() string {
	b := f.Back[0]
	if b.How != NotHere {
		return missingReason[b.How]
	}
	for _, r := range Reasons {
		if r.Word == b.Name {
			return r.Says
		}
	}
	return b.Name
}

// A Tally counts History's faults of a release: those as-shipped brings back, and the
// others by reason, most frequent first.
type Tally struct {
	Release     Release
	Known       int
	BroughtBack int
	Missing     []MissingReason
}

// A MissingReason is a number of faults and the reason why they aren't brought back.
type MissingReason struct {
	Faults int
	Why    string
}

// TallyOf counts the faults of the release that an edition stands for; ok is false if there is none.
func TallyOf(e rules.Edition) (t Tally, ok bool) {
	if t.Release, ok = ReleaseOf(e); !ok {
		return t, false
	}
	for i := range History() {
		f := &History()[i]
		if !f.In(t.Release) {
			continue
		}
		if t.Known++; f.shippedMutant(t.Release) != "" {
			t.BroughtBack++
			continue
		}
		why := f.missingReason()
		k := slices.IndexFunc(t.Missing, func(m MissingReason) bool { return m.Why == why })
		if k < 0 {
			k = len(t.Missing)
			t.Missing = append(t.Missing, MissingReason{Why: why})
		}
		t.Missing[k].Faults++
	}
	slices.SortStableFunc(t.Missing, func(a, b MissingReason) int { return b.Faults - a.Faults })
	return t, true
}

// Releases names the releases that had the fault a mutant reproduces, "" if History has none. For
// several rows it names their union.
func Releases(name string) string {
	var union Fix
	for i := range History() {
		f := &History()[i]
		if !slices.Contains(f.Back, Back{AMutant, name}) {
			continue
		}
		if union.Fixed == 0 {
			union = *f
		}
		union.Introduced, union.Fixed = min(union.Introduced, f.Introduced), max(union.Fixed, f.Fixed)
	}
	if union.Fixed == 0 {
		return ""
	}
	return union.Releases()
}

// ShippedIn returns the mutants that an edition's kernels were shipped with, as far
// as we know.
func ShippedIn(e rules.Edition) (names []string) {
	for _, f := range Shipped() {
		if f.Edition == e {
			names = append(names, f.Mutant)
		}
	}
	return names
}

// applyShipped brings back the faults of the wiring's edition.
func applyShipped(w *Wiring) {
	for _, f := range Shipped() {
		if f.Edition == w.Edition {
			mu, _ := ByName(f.Mutant)
			mu.Apply(w)
		}
	}
}

// CheckShipped returns an error that says why AsShipped changes nothing in an edition, nil if it does.
func CheckShipped(e rules.Edition) error {
	var have []string
	for _, f := range Shipped() {
		if f.Edition == e {
			return nil
		}
		if n := len(have); n == 0 || have[n-1] != f.Edition.String() {
			have = append(have, f.Edition.String())
		}
	}
	return fmt.Errorf("no known faults were shipped with edition %v; editions that have some: %s", e,
		strings.Join(have, ", "))
}
