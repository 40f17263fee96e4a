package mutantsearch

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/shrink"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
)

// A Search says how mutants are searched for: with the default strategy, each this many times, and each time with
// another seed.
type Search struct {
	Seeds   int    // searches of a mutant: the seeds are Seed, Seed+1, …
	Seed    uint64 // the first
	Most    uint64 // schedules of one search, after which the mutant has survived it
	Workers int    // 0: one a processor
	Blind   bool   // make no witness

	// Cancelled, if not nil, ends the hunt early when it is set.
	Cancelled *atomic.Bool

	// Progress, if not nil, is called now and then, by any worker, with the
	// numbers of the mutant's schedules and violations so far.
	Progress func(runs, violations uint64)
	_        struct{}
}

// A Kill is how one mutant has fared.
type Kill struct {
	Mutant  *mutants.Mutant
	First   explore.First   // the schedule that found it, over the seeds, whichever property noticed
	By      map[string]int  // the properties that noticed, by name, and in how many searches
	Witness *shrink.Witness // the shortest of the named property's; nil: none was found, or Blind

	// Proof is the result of the certificate, if a mutant is marked equivalent and has one. It isn't
	// searched then.
	Proof *proof.Verified
}

// Survived returns the number of searches that didn't notice the mutant.
func (k *Kill) Survived() int { return k.First.Seeds - len(k.First.Found) }

// Within reports whether every search found it by that schedule.
func (k *Kill) Within(runs uint64) bool {
	n := len(k.First.Found)
	return k.Survived() == 0 && n > 0 && k.First.Found[n-1] <= runs
}

// Fault says what is wrong with the mutant's row, in one line; "" if nothing is.
func (k *Kill) Fault() string {
	mu := k.Mutant
	for _, name := range sorted(k.By) {
		if mu.Equivalent != nil {
			return fmt.Sprintf("it is marked equivalent, and %s notices", name)
		}
		if name != mu.Property && !slices.Contains(mu.Also, name) {
			return fmt.Sprintf("%s notices, which isn't named: that is %s", name, mu.Property)
		}
	}
	switch q := mu.Equivalent; {
	case q != nil && !q.Certificate:
		return ""
	case q != nil && k.Proof == nil:
		return "it is marked equivalent, and there is no certificate"
	case q != nil && k.Proof.Violations > 0:
		return "it is marked equivalent, and is killed where its certificate is looked for"
	case q != nil && !k.Proof.Complete:
		return "it is marked equivalent, and the certificate isn't complete"
	case q != nil && k.Proof.Cut > 0:
		return fmt.Sprintf("it is marked equivalent, and for %d schedules of the certificate the budget was out",
			k.Proof.Cut)
	case q != nil:
		return ""
	case k.Survived() > 0:
		return fmt.Sprintf("%d of %d searches have not found it, and it isn't marked equivalent", k.Survived(),
			k.First.Seeds)
	case k.By[mu.Property] == 0:
		return fmt.Sprintf("%s never notices first", mu.Property)
	}
	return ""
}

func sorted(by map[string]int) (names []string) {
	for name := range by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(by[b]-by[a], cmp.Compare(a, b)) })
	return names
}

// Kill searches for a mutant. It returns nil if it was cancelled. Errors are about the mutant's row. The result
// depends on neither workers nor time.
func (h *Search) Kill(mu *mutants.Mutant) (*Kill, error) {
	sc, err := library.Load(mu.Scenario)
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", mu.Name, err)
	}
	if _, ok := properties.ByName(mu.Property); !ok {
		return nil, fmt.Errorf("mutant %s: no property is called %q", mu.Name, mu.Property)
	}
	k := &Kill{Mutant: mu}
	if q := mu.Equivalent; q != nil && q.Certificate { // a mutant with a certificate is proved, not searched for
		k.Proof, err = proof.Verify(proof.Proof{
			Spec: explore.Spec{Scenario: sc, Mutant: mu.Name, Blind: true, Cancelled: h.Cancelled}, Full: true,
			Watch: func(runs, violations, _ uint64) {
				if h.Progress != nil {
					h.Progress(runs, violations)
				}
			},
		})
	} else {
		err = h.search(k, sc)
	}
	if err != nil || h.cancelled() {
		return nil, err
	}
	return k, nil
}

// search searches for a mutant that isn't equivalent.
func (h *Search) search(k *Kill, sc *scenario.Scenario) error {
	mu := k.Mutant
	seeds := h.Seeds
	if mu.Equivalent != nil { // once is enough to see that it isn't found
		seeds = 1
	}
	race := explore.Tournament{
		Scenario: sc, Mutant: mu.Name, Seeds: seeds, Seed: h.Seed, Most: h.Most, Workers: h.Workers,
		Cancelled: h.Cancelled, Progress: h.Progress,
		New: func(p sched.Params) sched.Strategy { return sched.NewPortfolio(p) },
	}
	lap, err := race.Run()
	if err != nil {
		return err
	}
	k.First, k.By = lap.First(mu.Property, h.Most), lap.By
	if !h.Blind && !h.cancelled() && k.By[mu.Property] > 0 {
		k.Witness, err = h.witness(sc, mu)
	}
	return err
}

func (h *Search) cancelled() bool { return h.Cancelled != nil && h.Cancelled.Load() }

// witnessTries is the number of searches ending in the named property, of which the shortest witness is taken.
const witnessTries = 3

// witness makes a witness of the named property. Each search is Explore's, with the race's seeds, but not the same
// search: Explore divides the runs among shards.
func (h *Search) witness(sc *scenario.Scenario, mu *mutants.Mutant) (best *shrink.Witness, err error) {
	for i, tries := 0, 0; i < h.Seeds && tries < witnessTries && !h.cancelled(); i++ {
		res, err := explore.Run(explore.Spec{
			Scenario: sc, Mutant: mu.Name, Seed: h.Seed + uint64(i), Runs: h.Most, Workers: 1, Stop: true,
			Cancelled: h.Cancelled,
		})
		switch {
		case h.cancelled(): // possibly before the first run
			return best, nil
		case err != nil:
			return nil, err
		}
		for _, w := range res.Witnesses {
			if w.Property.Name == mu.Property {
				tries++
				if best == nil || w.Smaller(best) {
					best = w
				}
			}
		}
	}
	return best, nil
}
