package change

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
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
	Kept     *Baseline // nil: what the unchanged kernel shows isn't kept

	Progress  func(runs, violations uint64)
	Cancelled *atomic.Bool

	// if not 0: decide only what is plain, with so many runs of the unchanged kernel, times BaseTimes, at most
	plainly uint64
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

	of    *Search // whose last runs have it
	tried bool    // to settle it
	is    verdict // what that said
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

	// fewBase is the number of runs of the unchanged kernel which break something that are believed if it made
	// fewer runs than the changed one.
	fewBase = 3
)

// Run makes the search. A property that only the change breaks, in too few runs for a verdict, is
// settled, unless the search is Blind. The error says that the scenario can't be run on the changed kernel, or
// that the input is wrong.
func (s *Search) Run() (found Breaks, err error) {
	if s.with, err = s.some(s.Runs); err != nil {
		return found, err
	}
	found, open, err := s.look()
	if err != nil {
		return found, err
	}
	for i := range found.Worse {
		if err := found.Worse[i].Show(); err != nil {
			return found, err
		}
	}
	for _, b := range open {
		if !s.Blind {
			if _, err := b.Settle(SettleMost); err != nil {
				return found, err
			}
		}
		to := map[verdict]*[]Break{worse: &found.Worse, known: &found.Known, unsure: &found.Unsure}[b.is]
		*to = append(*to, *b)
	}
	return found, nil
}

// look compares what the last runs with the change break with what the unchanged kernel breaks. open are those that
// only the change breaks, in too few runs for a verdict.
//
// What both break may hide more. So they are compared again in runs that go on after that, unless
// a CPU may execute garbage then, or only what is plain is asked for.
func (s *Search) look() (found Breaks, open []*Break, err error) {
	found, open, err = s.compare()
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
		if err != nil || !more || s.plainly > 0 || len(behind.known) > behindMost || s.cancelled() {
			return found, open, err
		}
		behind.Look, behind.with, behind.without = nil, nil, nil
		if behind.with, err = behind.some(behind.Runs); err != nil {
			return found, open, err
		}
		var also []*Break
		last, also, err = behind.compare()
		found.Worse, found.Known = append(found.Worse, last.Worse...), append(found.Known, last.Known...)
		open = append(open, also...)
	}
}

// behindMost is the maximum number of known findings that a comparison goes on after.
const behindMost = 8

// compare compares what the runs of both sides break first, apart from what is known.
func (s *Search) compare() (found Breaks, open []*Break, err error) {
	if s.with.Violations == 0 {
		return found, nil, nil
	}
	breaks, err := s.broken()
	if err != nil || s.cancelled() {
		return found, nil, err
	}
	of := *s // s may go on
	of.known = slices.Clone(s.known)
	for i := range breaks {
		b := &breaks[i]
		b.of = &of
		switch {
		case s.Odds.Worse(b):
			found.Worse = append(found.Worse, *b)
		case b.Open():
			open = append(open, b)
		default:
			found.Known = append(found.Known, *b)
		}
	}
	return found, open, nil
}

// broken lists what the runs with the change broke, beside those of the unchanged kernel, of which it makes as many
// as are needed.
func (s *Search) broken() (breaks []Break, err error) {
	for _, runs := range []uint64{s.few(), s.Runs, s.Runs * BaseTimes} {
		if s.plainly > 0 && s.without != nil {
			runs = min(runs, s.plainly*BaseTimes)
		}
		if s.without == nil || s.without.Runs < runs {
			if s.without, err = s.explore(s.Scenario, s.Base, "", runs, s.Seed); err != nil {
				return nil, err
			}
		}
		breaks = s.breaks()
		if !slices.ContainsFunc(breaks, s.needsMore) {
			break
		}
	}
	return breaks, nil
}

// few is the number of runs that the unchanged kernel begins with.
func (s *Search) few() uint64 { return min(max(s.Runs/firstShare, leastFirst), s.Runs) }

// needsMore reports whether more runs of the unchanged kernel may change what is said.
func (s *Search) needsMore(b Break) bool {
	if s.Odds.Worse(&b) {
		return false
	}
	if s.plainly > 0 {
		b.BaseRuns = min(s.Runs, s.plainly) * BaseTimes
		return s.Odds.Worse(&b)
	}
	return b.Base == 0 || b.BaseRuns < b.Runs && b.Base < fewBase || b.twice() && b.chance() <= doubtful
}

// breaks lists what the last runs with the change broke, beside the last ones of the unchanged kernel.
func (s *Search) breaks() (list []Break) {
	with, without := kinds(s.with), kinds(s.without)
	for _, k := range slices.SortedFunc(maps.Keys(with), kind.compare) {
		list = append(list, Break{Property: k.property, Words: k.words, Runs: s.with.Runs, Violations: with[k],
			BaseRuns: s.without.Runs, Base: without[k]})
	}
	return list
}

func (s *Search) cancelled() bool { return s.Cancelled != nil && s.Cancelled.Load() }

// Show makes the witness of a finding, unless its search is Blind.
func (b *Break) Show() (err error) {
	if b.Witness == nil && b.of != nil && !b.of.Blind {
		b.Witness, err = b.of.witness(kind{b.Property, b.Words})
	}
	return err
}

// Settle tries to settle a finding of few runs, and returns what that cost.
func (b *Break) Settle(most uint64) (took uint64, err error) {
	b.is, took, err = b.settle(most)
	b.tried = true
	return took, err
}

// Worsens reports whether the change was settled to be worse.
func (b *Break) Worsens() bool { return b.tried && b.is == worse }

// settle tries on the unchanged kernel what few runs with the change have shown: along the schedule of the witness,
// in runs near that schedule (near.go), and in runs of the witness' program, which show it far more often than the
// scenario does, until there is a verdict. It takes no look that would make it cost more than most.
func (b *Break) settle(most uint64) (is verdict, took uint64, err error) {
	s, k := b.of, kind{b.Property, b.Words}
	if err = b.Show(); err != nil || b.Witness == nil {
		return unsure, 0, err
	}
	took = uint64(b.Witness.Runs)*startSteps + b.Witness.Asked*shrinkSteps
	sc, err := lang.Parse("witness", []byte(b.Witness.File.Scenario))
	if err != nil {
		return unsure, 0, err
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	if b.Played = s.plays(sc, b.Witness); b.Played && b.chance() > suspicious {
		return known, took, nil
	}
	if !b.Played {
		is, also, err := s.near(b, k, sc, most-min(took, most))
		if took += also; err != nil || is != unsure {
			return is, took, err
		}
	}
	b.Confirmed = &Break{Property: b.Property, Words: b.Words}
	each := costOf(&s.with.Counts, s.with.Runs)
	is, also, err := s.Odds.decide(b.Confirmed, each, most-min(took, most), func(look, runs uint64) (cost uint64,
		err error) {
		for _, side := range []struct {
			kernel       *linux.Kernel
			mutant       string
			runs, breaks *uint64
		}{{s.Kernel, s.Mutant, &b.Confirmed.Runs, &b.Confirmed.Violations},
			{s.Base, "", &b.Confirmed.BaseRuns, &b.Confirmed.Base}} {
			res, err := s.explore(sc, side.kernel, side.mutant, runs, sim.Mix(s.Seed+look+1))
			if err != nil {
				return cost, err
			}
			*side.runs += res.Runs
			*side.breaks += kinds(res)[k]
			cost += costOf(&res.Counts, res.Runs) * res.Runs
		}
		return cost, nil
	})
	return is, took + also, err
}

// plays reports whether the unchanged kernel breaks the property of a witness along its schedule.
func (s *Search) plays(sc *scenario.Scenario, w *shrink.Witness) bool {
	return Plays(sc, s.Base, w.File)
}

// Plays reports whether a kernel breaks the property of a trace along its schedule. sc is the trace's scenario without
// an engine.
func Plays(sc *scenario.Scenario, k *linux.Kernel, file *traces.File) bool {
	other := *sc
	if onlinux.Set(&other, k) != nil {
		return false
	}
	f := *file
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
	if err := onlinux.Set(&sc, s.Kernel); err != nil {
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
	if err := onlinux.Set(&one, k); err != nil {
		return nil, err
	}
	look := newCounter(nil)
	if s.Look != nil && sc == s.Scenario {
		look = newCounter(s.Look)
	}
	spec := explore.Spec{Scenario: &one, Mutant: mutant, Runs: runs, Seed: seed, Workers: s.Workers,
		Progress: s.Progress, Cancelled: s.Cancelled, Blind: true, Look: look, Known: s.known}
	if s.Kept != nil && k == s.Kept.kernel && mutant == "" && sc == s.Scenario {
		return s.Kept.explore(spec)
	}
	return explore.Run(spec)
}

// A kind is a property broken by findings that read alike.
type kind struct{ property, words string }

func (k kind) compare(l kind) int {
	rank := func(k kind) int {
		return slices.IndexFunc(properties.All, func(q *properties.Property) bool { return q.Name == k.property })
	}
	return cmp.Or(cmp.Compare(rank(k), rank(l)), strings.Compare(k.words, l.words))
}
