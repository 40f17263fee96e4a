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

// A Fault is a mutant that an edition's kernels were shipped with.
type Fault struct {
	Edition  rules.Edition
	Mutant   string
	Scenario string // shows it in that edition
	Property string // and which property must notice
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
//   - Which locks the optimizer holds is a setting, order: each is right by itself.
//
// In the editions that have it cancel-rcu shows only when the page of a detour is unmapped.
var Shipped = sync.OnceValue(func() (all []Fault) {
	for _, s := range standsFor {
		history := History()
		for i := range history {
			name := history[i].ships(s.release)
			if name == "" || slices.ContainsFunc(all, func(f Fault) bool {
				return f.Edition == s.edition &&
					f.Mutant == name
			}) {
				continue
			}
			m, _ := find(name)
			f := Fault{s.edition, name, m.Scenario, m.Property}
			if name == "cancel-rcu" {
				f.Scenario = "cancel-detour-pages"
			}
			all = append(all, f)
		}
	}
	return all
})

// ships returns the mutant that is the fault, "" if a release didn't have it or none is.
func (f *Fix) ships(r Release) string {
	for _, b := range f.Back {
		if b.How == AMutant && f.In(r) {
			if m, ok := find(b.Name); ok && m.Equivalent == nil {
				return b.Name
			}
		}
	}
	return ""
}

// whyNot says why --as-shipped doesn't bring the fault back.
func (f *Fix) whyNot() string {
	b := f.Back[0]
	if b.How != NotHere {
		return whyNot[b.How]
	}
	for _, r := range Reasons {
		if r.Word == b.Name {
			return r.Says
		}
	}
	return b.Name
}

// A Tally is how many of the faults that History has for a release as-shipped brings
// back, and how many it doesn't for each reason, most first.
type Tally struct {
	Release Release
	Known   int
	Back    int
	Not     []Missing
}

// A Missing is a number of faults and the reason why they aren't brought back.
type Missing struct {
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
		if t.Known++; f.ships(t.Release) != "" {
			t.Back++
			continue
		}
		why := f.whyNot()
		k := slices.IndexFunc(t.Not, func(m Missing) bool { return m.Why == why })
		if k < 0 {
			k = len(t.Not)
			t.Not = append(t.Not, Missing{Why: why})
		}
		t.Not[k].Faults++
	}
	slices.SortStableFunc(t.Not, func(a, b Missing) int { return b.Faults - a.Faults })
	return t, true
}

// Releases names the releases whose fault a mutant is, "" if History has none. For several rows it names their union.
func Releases(name string) string {
	var whole Fix
	for i := range History() {
		f := &History()[i]
		if !slices.Contains(f.Back, Back{AMutant, name}) {
			continue
		}
		if whole.Fixed == 0 {
			whole = *f
		}
		whole.Introduced, whole.Fixed = min(whole.Introduced, f.Introduced), max(whole.Fixed, f.Fixed)
	}
	if whole.Fixed == 0 {
		return ""
	}
	return whole.Releases()
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
	return fmt.Errorf("no fault is known that edition %v was shipped with; of these there are: %s", e,
		strings.Join(have, ", "))
}
