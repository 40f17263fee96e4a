package mutants

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/kapi"
)

// barrierPrefix begins the names of the mutants of Barriers.
const barrierPrefix = "drop-"

// Barriers returns a mutant for each place that keeps an order (kapi.Places): its accesses and fences order nothing.
// They aren't in All, and no property has to notice one: under memory "sc" every access is in order and none matters,
// under "tso" those for which x86 needs no instruction don't.
func Barriers() []Mutant {
	var all []Mutant
	for i := range kapi.Places() {
		if b := kapi.Barrier(i); b >= kapi.FirstPlace {
			all = append(all, dropping(b))
		}
	}
	return all
}

// dropping is the mutant that leaves a barrier out.
func dropping(b kapi.Barrier) Mutant {
	p := b.Place()
	return Mutant{
		Name:    BarrierName(p),
		Says:    fmt.Sprintf("no order (%s) at %q", p.Order, p.Name),
		Source:  p.Source,
		Barrier: b,
		Apply:   func(w *Wiring) { w.Kernel.M.Weak().Drop(b) },
	}
}

// BarrierName returns the name of the mutant that removes a place's order, made from the place's name:
// drop-text-poke-publish for text_poke: publish.
func BarrierName(p *kapi.Place) string {
	words := strings.FieldsFunc(strings.ToLower(p.Name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return barrierPrefix + strings.Join(words, "-")
}

// barrier returns the mutant of that name from Barriers or Unchecked.
func barrier(name string) (*Mutant, bool) {
	all := Unchecked
	if strings.HasPrefix(name, barrierPrefix) {
		all = Barriers()
	}
	i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return &all[i], true
}

// Known returns the names of all mutants, Barriers included.
func Known() []string {
	names := Names()
	for _, m := range slices.Concat(Unchecked, Barriers()) {
		names = append(names, m.Name)
	}
	return names
}
