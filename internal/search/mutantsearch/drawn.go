package mutantsearch

import (
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/fuzz"
	"kpsim/kprobes/mutants"
)

// Drawn says how mutants are searched for among drawn programs (package fuzz), none of which is derived from the
// scenario in which the mutant shows, or a copy of that. So it measures what the generator finds by itself.
type Drawn struct {
	Seed     uint64
	Programs uint64 // the programs of each mutant, at most
	Each     uint64 // runs of each program
	Workers  int

	Cancelled *atomic.Bool // if not nil, ends the search early when it is set
}

// A DrawnKill is how a mutant has fared among drawn programs.
type DrawnKill struct {
	Mutant   *mutants.Mutant
	Programs uint64 // the number of the program that found it, from 1; of all programs if none did
	Property string // the property that noticed; "": none did
}

// Historical lists the mutants that bring back a fault which kernels had (mutants.History) and that show in a built-in
// scenario, in the order of the catalogue.
func Historical() (list []*mutants.Mutant) {
	back := make(map[string]bool)
	for _, f := range mutants.History() {
		for _, b := range f.Back {
			if b.How == mutants.AMutant {
				back[b.Name] = true
			}
		}
	}
	for i := range mutants.All {
		if mu := &mutants.All[i]; back[mu.Name] && mu.Scenario != "" && mu.Equivalent == nil {
			list = append(list, mu)
		}
	}
	return list
}

// Copies returns a built-in scenario and those that are variants of it, by their names: cancel-detour-pages is one of
// cancel-detour.
func Copies(name string) (list []string) {
	for _, n := range library.Names() {
		if n == name || strings.HasPrefix(n, name+"-") || strings.HasPrefix(name, n+"-") {
			list = append(list, n)
		}
	}
	return list
}

// Kill searches for a mutant; nil if it was cancelled. The result depends on neither workers nor time.
func (d *Drawn) Kill(mu *mutants.Mutant) (*DrawnKill, error) {
	s, err := fuzz.New(fuzz.Spec{Mutant: mu.Name, Seed: d.Seed, Each: d.Each, Workers: d.Workers, Stop: d.Cancelled,
		On: gen.On{Without: Copies(mu.Scenario)}})
	if err != nil {
		return nil, err
	}
	s.Next = gen.First(d.Seed)
	k := &DrawnKill{Mutant: mu}
	for k.Programs < d.Programs {
		list, err := s.Batch(d.Programs - k.Programs)
		if err != nil {
			return nil, err
		}
		if d.Cancelled != nil && d.Cancelled.Load() {
			return nil, nil
		}
		if i := slices.IndexFunc(list, func(p *fuzz.Program) bool { return len(p.Broken) > 0 }); i >= 0 {
			k.Programs, k.Property = k.Programs+uint64(i)+1, list[i].Broken[0].Property
			break
		}
		k.Programs += uint64(len(list))
	}
	return k, nil
}
