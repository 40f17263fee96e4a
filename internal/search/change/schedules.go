package change

import (
	"math"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/linux"
	"kpsim/properties"
)

// A Search compares what the runs of a scenario break, with and without a change. It may be
// run again with another Kernel or Mutant: what the kernel as it is does is kept.
type Search struct {
	Scenario *scenario.Scenario // without an engine yet
	Base     *linux.Kernel      // as it is
	Kernel   *linux.Kernel      // as it is changed; Base itself, if only a mutant is put in
	Mutant   string
	Runs     uint64 // with the change
	Seed     uint64
	Workers  int
	Blind    bool // make no witness
	Look     func() explore.Look

	// Sure, if not nil, says of a property that the change is known to break it elsewhere: then a
	// run or two that break it are believed after BaseTimes, not RareTimes.
	Sure func(property string) bool

	Progress  func(runs, violations uint64)
	Cancelled *atomic.Bool

	with          *explore.Result // of the last Run
	without, long *explore.Result // of the kernel as it is
}

// A Break is a property that runs with the change break.
type Break struct {
	Property   string
	Runs       uint64
	Violations uint64
	BaseRuns   uint64 // without the change
	Base       uint64 // of these, those that broke it
	Witness    *shrink.Witness
}

// How many times the runs with a change the kernel as it is gets, if something was broken;
// and if by few of the runs, which may be a race that it has itself.
const (
	BaseTimes = 4
	RareTimes = 64
	Few       = 5 // runs
)

// Run explores, and returns the properties that the change breaks: the kernel as it is
// doesn't, or in significantly fewer runs. Known are those that both break. An error is that
// the scenario can't be run on the changed kernel, or a fault of the input.
func (s *Search) Run() (breaks, known []Break, err error) {
	with, err := s.explore(s.Kernel, s.Mutant, s.Runs, true)
	s.with = with
	if err != nil || with.Violations == 0 {
		return nil, nil, err
	}
	for _, p := range properties.All {
		n := with.Broken[p.Name]
		if n == 0 {
			continue
		}
		without, err := s.base(&s.without, BaseTimes)
		if err == nil && n < Few && without.Broken[p.Name] == 0 && (s.Sure == nil || !s.Sure(p.Name)) {
			without, err = s.base(&s.long, s.rareTimes(with))
		}
		if err != nil {
			return nil, nil, err
		}
		b := Break{Property: p.Name, Runs: with.Runs, Violations: n, BaseRuns: without.Runs, Base: without.Broken[p.Name]}
		if b.Base == 0 || b.More() {
			breaks = append(breaks, b)
		} else {
			known = append(known, b)
		}
	}
	return breaks, known, s.witnesses(breaks)
}

// rareMost bounds the questions of the runs that are to show what few runs show: some half a
// minute of a core.
const rareMost = 60_000_000

// rareTimes is RareTimes, or less where runs are long.
func (s *Search) rareTimes(with *explore.Result) uint64 {
	each := max(with.Counts.Points/max(with.Runs, 1), 1)
	return min(RareTimes, max(BaseTimes, rareMost/each/max(s.Runs, 1)))
}

// base explores the kernel as it is, once.
func (s *Search) base(kept **explore.Result, times uint64) (res *explore.Result, err error) {
	if *kept == nil {
		*kept, err = s.explore(s.Base, "", s.Runs*times, true)
	}
	return *kept, err
}

// witnesses makes the runs with the change again, for a witness of each break.
func (s *Search) witnesses(breaks []Break) error {
	if len(breaks) == 0 || s.Blind {
		return nil
	}
	with, err := s.explore(s.Kernel, s.Mutant, s.Runs, false)
	if err != nil {
		return err
	}
	for _, w := range with.Witnesses {
		for i := range breaks {
			if breaks[i].Property == w.Property.Name {
				breaks[i].Witness = w
			}
		}
	}
	return nil
}

// significant is of how many standard deviations a difference in shares must be. Runs of a
// strategy aren't independent, so it is far more than for drawn balls.
const significant = 8

// More reports whether the runs with the change break the property more often: in twice the
// share at least, and too much so for chance.
func (b *Break) More() bool {
	with, without := float64(b.Violations)/float64(b.Runs), float64(b.Base)/float64(b.BaseRuns)
	all := float64(b.Violations+b.Base) / float64(b.Runs+b.BaseRuns)
	deviation := math.Sqrt(all * (1 - all) * (1/float64(b.Runs) + 1/float64(b.BaseRuns)))
	return b.Violations >= Few && with >= 2*without && with-without > significant*deviation
}

// explore explores a kernel; blind, it makes no witness.
func (s *Search) explore(k *linux.Kernel, mutant string, runs uint64, blind bool) (*explore.Result, error) {
	sc := *s.Scenario
	if err := sc.SetLinux(k); err != nil {
		return nil, err
	}
	return explore.Run(explore.Spec{Scenario: &sc, Mutant: mutant, Runs: runs, Seed: s.Seed, Workers: s.Workers, Progress: s.Progress, Cancelled: s.Cancelled, Blind: blind, Look: s.Look})
}
