package change

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/traces"
)

// A Search compares what the runs of a scenario break with and without a change. It may be run
// again with another Kernel or Mutant; the results of the unchanged kernel are kept.
type Search struct {
	Scenario *scenario.Scenario // without an engine yet
	Base     *linux.Kernel      // unchanged
	Kernel   *linux.Kernel      // changed; Base itself if there is only a mutant
	Mutant   string
	Runs     uint64 // runs with the change
	Seed     uint64
	Workers  int
	Odds     Odds
	Blind    bool // make no witness, and accept the first runs' results
	Look     func() explore.Look

	// Sure, if not nil, reports that the change is already known to break a property elsewhere:
	// then findings of few runs are left unsure.
	Sure func(property string) bool

	Progress  func(runs, violations uint64)
	Cancelled *atomic.Bool

	shared  *explore.Result // runs with the change that were made already; nil: none
	with    *explore.Result // of the last Run
	without *explore.Result // of the unchanged kernel
	known   []rig.Known     // what both sides break, and go on after
}

// A Break is a property that runs with the change break, with findings that read alike.
type Break struct {
	Property   string
	Words      string // their wording, without numbers, places and names
	Runs       uint64
	Violations uint64
	BaseRuns   uint64 // runs without the change
	Base       uint64 // of these, runs that broke the property
	Witness    *shrink.Witness
	Confirmed  *Break // by runs of the witness' program; nil: not tried
	Near       *Break // by runs near the witness' schedule; nil: not tried, Runs 0: one side can't follow it
	Played     bool   // the unchanged kernel breaks it along the witness' schedule
}

// Breaks holds the results of a search.
type Breaks struct {
	Worse  []Break // broken only by the change, or far more often
	Known  []Break // broken by both
	Unsure []Break // broken only by the change, in too few runs for a verdict
}

const (
	// BaseTimes is the factor by which the unchanged kernel gets more runs, if equally many leave
	// open whether it breaks something as often.
	BaseTimes = 4

	// doubtful is the probability of chance up to which it gets them.
	doubtful = 1.0 / 20
)

// Run makes the search. A property that only the change breaks, in too few runs for a verdict, is
// tried on the unchanged kernel: along the schedule of the witness, in runs near that schedule
// (near.go), and in runs of the witness' program, which show it far more often than the scenario
// does, until there is a verdict. The error says that the scenario can't be run on the changed
// kernel, or that the input is wrong.
//
// What both break may hide more. So they are compared again in runs that go on after that, unless
// a CPU may execute garbage then.
func (s *Search) Run() (found Breaks, err error) {
	found, err = s.compare()
	behind := *s
	for last := found; ; {
		more := false
		for i := range last.Known {
			q, _ := properties.ByName(last.Known[i].Property)
			as := rig.AnyPlace(q.Name, last.Known[i].Words)
			if !properties.Lost.Has(q) && !slices.Contains(behind.known, as) {
				behind.known, more = append(behind.known, as), true
			}
		}
		if err != nil || !more || len(behind.known) > behindMost || s.cancelled() {
			return found, err
		}
		behind.Look, behind.shared, behind.with, behind.without = nil, nil, nil, nil
		last, err = behind.compare()
		found.Worse, found.Known, found.Unsure = append(found.Worse, last.Worse...),
			append(found.Known, last.Known...), append(found.Unsure, last.Unsure...)
	}
}

// behindMost is the maximum number of known findings that a comparison goes on after.
const behindMost = 8

// compare compares what the runs of both sides break first, apart from what is known.
func (s *Search) compare() (found Breaks, err error) {
	if s.with = s.shared; s.with == nil {
		if s.with, err = s.explore(s.Scenario, s.Kernel, s.Mutant, s.Runs, s.Seed); err != nil {
			return found, err
		}
	}
	if s.with.Violations == 0 {
		return found, nil
	}
	breaks, err := s.broken()
	if err != nil {
		return found, err
	}
	for i := range breaks {
		b := &breaks[i]
		k := kind{b.Property, b.Words}
		to := &found.Known
		switch {
		case s.cancelled():
			return found, nil
		case s.Odds.Worse(b):
			to = &found.Worse
			if !s.Blind {
				b.Witness, err = s.witness(k)
			}
		case b.Open() && (s.Blind || s.Sure != nil && s.Sure(k.property)):
			to = &found.Unsure
		case b.Open():
			to, err = s.confirm(b, k, &found)
		}
		if err != nil {
			return found, err
		}
		*to = append(*to, *b)
	}
	return found, nil
}

// broken lists what the runs with the change broke, beside those of the unchanged kernel.
func (s *Search) broken() (breaks []Break, err error) {
	with := kinds(s.with)
	for _, times := range []uint64{1, BaseTimes} {
		if s.without == nil || s.without.Runs < s.Runs*times {
			if s.without, err = s.explore(s.Scenario, s.Base, "", s.Runs*times, s.Seed); err != nil {
				return nil, err
			}
		}
		without, more := kinds(s.without), false
		breaks = breaks[:0]
		for _, k := range slices.SortedFunc(maps.Keys(with), kind.compare) {
			b := Break{Property: k.property, Words: k.words, Runs: s.with.Runs, Violations: with[k],
				BaseRuns: s.without.Runs, Base: without[k]}
			more = more || !s.Odds.Worse(&b) && (b.Base == 0 || b.twice() && b.chance() <= doubtful)
			breaks = append(breaks, b)
		}
		if !more {
			break
		}
	}
	return breaks, nil
}

func (s *Search) cancelled() bool { return s.Cancelled != nil && s.Cancelled.Load() }

// confirm tries on the unchanged kernel what few runs with the change have shown.
func (s *Search) confirm(b *Break, k kind, found *Breaks) (to *[]Break, err error) {
	if b.Witness, err = s.witness(k); err != nil || b.Witness == nil {
		return &found.Unsure, err
	}
	sc, err := lang.Parse("witness", []byte(b.Witness.File.Scenario))
	if err != nil {
		return nil, err
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	if b.Played = s.plays(sc, b.Witness); b.Played && b.chance() > suspicious {
		return &found.Known, nil
	}
	if !b.Played {
		switch is, err := s.near(b, k, sc); {
		case err != nil:
			return nil, err
		case is == worse:
			return &found.Worse, nil
		case is == known:
			return &found.Known, nil
		}
	}
	b.Confirmed = &Break{Property: b.Property, Words: b.Words}
	is, err := s.Odds.decide(b.Confirmed, func(look, runs uint64) (asked uint64, err error) {
		for _, side := range []struct {
			kernel       *linux.Kernel
			mutant       string
			runs, breaks *uint64
		}{{s.Kernel, s.Mutant, &b.Confirmed.Runs, &b.Confirmed.Violations},
			{s.Base, "", &b.Confirmed.BaseRuns, &b.Confirmed.Base}} {
			res, err := s.explore(sc, side.kernel, side.mutant, runs, sim.Mix(s.Seed+look+1))
			if err != nil {
				return asked, err
			}
			*side.runs += res.Runs
			*side.breaks += kinds(res)[k]
			asked += res.Counts.Points
		}
		return asked, nil
	})
	switch is {
	case worse:
		return &found.Worse, err
	case known:
		return &found.Known, err
	}
	return &found.Unsure, err
}

// plays reports whether the unchanged kernel breaks the property of a witness along its schedule.
func (s *Search) plays(sc *scenario.Scenario, w *shrink.Witness) bool {
	other := *sc
	if other.SetLinux(s.Base) != nil {
		return false
	}
	f := *w.File
	f.Scenario = lang.Print(&other)
	f.Origin = slices.DeleteFunc(slices.Clone(f.Origin), func(r traces.Remark) bool {
		return r.Key == traces.OriginMutant
	})
	r, err := replay.PlayAnyPlace(other.Name, &f)
	if err != nil {
		return false
	}
	defer r.Rig.Close()
	return r.Breaks
}

// witness shrinks a run of the last exploration with the change; nil if it kept none with this
// wording.
func (s *Search) witness(k kind) (*shrink.Witness, error) {
	sc := *s.Scenario
	if err := sc.SetLinux(s.Kernel); err != nil {
		return nil, err
	}
	spec := explore.Spec{Scenario: &sc, Mutant: s.Mutant, Seed: s.Seed, Known: s.known}
	r, err := spec.NewRig()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	found := slices.DeleteFunc(s.with.Found(), func(f shrink.Found) bool {
		return f.Property != k.property || r.ReadsAs(f.Message) != k.words
	})
	if len(found) == 0 {
		return nil, nil
	}
	list, err := shrink.Witnesses(spec.Origin(), found)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// explore explores a kernel without making witnesses.
func (s *Search) explore(sc *scenario.Scenario, k *linux.Kernel, mutant string, runs, seed uint64) (*explore.Result,
	error) {
	one := *sc
	if err := one.SetLinux(k); err != nil {
		return nil, err
	}
	look := newCounter(nil)
	if s.Look != nil && sc == s.Scenario {
		look = newCounter(s.Look)
	}
	return explore.Run(explore.Spec{Scenario: &one, Mutant: mutant, Runs: runs, Seed: seed, Workers: s.Workers,
		Progress: s.Progress, Cancelled: s.Cancelled, Blind: true, Look: look, Known: s.known})
}

// A kind is a property broken by findings that read alike.
type kind struct{ property, words string }

func (k kind) compare(l kind) int {
	rank := func(k kind) int {
		return slices.IndexFunc(properties.All, func(q *properties.Property) bool { return q.Name == k.property })
	}
	return cmp.Or(cmp.Compare(rank(k), rank(l)), strings.Compare(k.words, l.words))
}
