package change

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/explore"
	"kpsim/smp/fetch"
)

// A Beside searches a scenario on two kernels, in rounds, each of which makes the results of the one before
// better: First, More unless it is Done, and Settle for each of the findings that are then Open. So a review can
// look at every scenario before it searches any of them deeply.
type Beside struct {
	Before, After Search // the same scenario, each with the other's kernel as Base
	Places        []Place
	Differ        []string // the functions that differ, without what the compiler adds to their names
	Even          bool     // the unchanged kernel makes as many runs as the changed one, even if that breaks nothing
	Stats         struct{ Before, After Run }

	Unreached bool   // the first runs didn't reach the change: no more are made
	Full      uint64 // the number of runs that More makes if there is budget for them
	Each      uint64 // the cost of one of them

	Gained, Lost []Break // broken only by After, or far more often; broken only by Before
	Both         []Break
	Unsure       []Break  // broken by few runs of After
	Open         []*Break // as unsure, and may be settled
	Reached      []uint64 // runs of After that reached each place
	New, Gone    []End

	now, was map[string]uint64 // how runs of After and of Before ended
}

// A Run counts the runs of a kernel.
type Run struct {
	Runs       uint64 `json:"runs"`
	Violations uint64 `json:"violations"` // of these, runs that broke something
}

// NewBeside returns the searches of a scenario on the search's two kernels, of which none is made yet.
func NewBeside(sc *scenario.Scenario, s Search, code *Code) *Beside {
	b := &Beside{Places: code.Places, Differ: code.differ()}
	places := code.Places
	s.Scenario = sc
	b.After, b.Before = s, s
	b.Before.Base, b.Before.Kernel = s.Kernel, s.Base
	b.After.Look, b.Before.Look = newLook(places), newLook(nil)
	return b
}

const (
	firstShare = 5 // of a scenario's runs the first round makes one fifth
	leastFirst = 10

	// Most scenarios cost 10,000 to 50,000 steps a run, some two million. The first runs of a side cost
	// firstMost at most, half a second, if they aren't fewer than fewestFirst then.
	firstMost   = 8 * Million
	fewestFirst = 4

	// A scenario in which CPUs may run stale bytes gets more runs if they are short: a missing sync
	// shows where a fetch, a store and an interrupt coincide.
	shortRun   = 10_000 // questions
	staleTimes = 4
)

// First makes few runs of both kernels, and decides only what is plain. If those of the unchanged kernel don't come to
// a function that differs, and a handful with the change don't either and break nothing, then more with the change
// would be the same runs, so there are none. The error says that one of the kernels can't run the scenario, or that
// the input is wrong.
func (b *Beside) First() error {
	full := b.After.Runs
	after, err := b.After.some(min(fewestFirst, full))
	if err != nil {
		return err
	}
	b.Each, b.Full = costOf(&after.Counts, after.Runs), full
	if b.After.Scenario.Machine.Fetch != fetch.Coherent && after.Counts.Points < shortRun*after.Runs {
		b.Full *= staleTimes
	}
	few := firstRuns(full, b.Each)
	b.After.Runs, b.Before.Runs = few, few
	if err := b.unchanged(min(fewestFirst, few)); err != nil {
		return err
	}
	// The unchanged kernel's runs may be far longer, if the change ends them.
	b.Each = max(b.Each, costOf(&b.After.without.Counts, b.After.without.Runs))
	if few := min(few, firstRuns(full, b.Each)); few > b.After.without.Runs {
		if err := b.unchanged(few); err != nil {
			return err
		}
	}
	b.took(after)
	if b.Unreached = b.comesToNothing(after); b.Unreached {
		after = b.After.without // both kernels run the same code
		b.Stats.After, b.now = Run{after.Runs, after.Violations}, b.was
		b.Stats.Before = b.Stats.After
		b.After.with = after
		b.Both = b.After.breaks()
		return nil
	}
	if few > after.Runs {
		if after, err = b.After.some(few); err != nil {
			return err
		}
		b.took(after)
	}
	b.Each = max(costOf(&after.Counts, after.Runs), costOf(&b.After.without.Counts, b.After.without.Runs))
	b.After.plainly = max(firstMost/b.Each, 1)
	return b.compare(after)
}

// comesToNothing reports whether neither the first runs of the unchanged kernel nor those with the change came to what
// differs, and the latter broke nothing that the former don't. false also if it isn't known what differs.
func (b *Beside) comesToNothing(after *explore.Result) bool {
	if b.After.Kept == nil || len(b.Places) == 0 ||
		slices.ContainsFunc(b.Reached, func(n uint64) bool { return n > 0 }) {
		return false
	}
	without := kinds(b.After.without)
	for k := range kinds(after) {
		if without[k] == 0 {
			return false
		}
	}
	for _, l := range b.After.without.Looks {
		if comes(l.(*counter).inner.(*look).entered, b.Differ) {
			return false
		}
	}
	return true
}

// firstRuns returns the number of first runs of a scenario, from the runs that it should have and the cost of each.
func firstRuns(full, each uint64) uint64 {
	return min(max(full/firstShare, leastFirst), max(firstMost/each, fewestFirst), full)
}

// unchanged makes runs of the unchanged kernel.
func (b *Beside) unchanged(runs uint64) error {
	before, err := b.Before.some(runs)
	if err != nil {
		return err
	}
	_, b.was = joined(before.Looks, nil)
	b.After.without = before
	return nil
}

// took records the runs with the change.
func (b *Beside) took(after *explore.Result) {
	b.Reached, b.now = joined(after.Looks, b.Places)
	b.Stats.After = Run{after.Runs, after.Violations}
}

// Done reports whether more runs aren't worth it: nothing of the change was reached, or it is plain already that it
// breaks something.
func (b *Beside) Done() bool { return b.Unreached || len(b.Gained) > 0 }

// More makes more runs with the change. The unchanged kernel makes more only if those broke something, or ended as
// its own never did.
func (b *Beside) More(runs uint64) error {
	b.After.Runs, b.Before.Runs, b.After.plainly = runs, runs, 0
	if b.Even && b.After.without.Runs < runs {
		if err := b.unchanged(runs); err != nil {
			return err
		}
	}
	before := b.After.without
	after, err := b.After.some(runs)
	if err != nil {
		return err
	}
	b.took(after)
	if err := b.compare(after); err != nil || len(b.Gained)+len(b.Lost) > 0 {
		return err // a run that ends early gives fewer answers
	}
	if b.New, err = b.After.ends(b.now, b.was, after.Runs); err != nil {
		return err
	}
	b.Gone, err = b.Before.ends(b.was, b.now, before.Runs)
	return err
}

// compare compares the runs with the change with those of the unchanged kernel.
func (b *Beside) compare(after *explore.Result) (err error) {
	b.After.with = after
	runs := b.After.Runs
	var found Breaks
	if found, b.Open, err = b.After.look(); err != nil {
		return err
	}
	b.Gained, b.Both, b.Unsure = found.Worse, found.Known, found.Unsure
	b.Before.with, b.Before.without = b.After.without, after
	if b.After.plainly == 0 {
		if err := b.Before.longer(runs); err != nil {
			return err
		}
	}
	b.Lost = b.Before.lost()
	b.Stats.Before = Run{b.Before.with.Runs, b.Before.with.Violations}
	return nil
}

// longer makes as many runs of the unchanged kernel as the changed one made, and then more of that, where few runs
// break what those of the other don't.
func (s *Search) longer(runs uint64) (err error) {
	undecided := func(chance float64) bool {
		return slices.ContainsFunc(s.breaks(), func(b Break) bool {
			return b.Open() && !s.Odds.Worse(&b) && b.chance() <= chance
		})
	}
	if s.with.Runs < runs && undecided(1) {
		if s.with, err = s.some(runs); err != nil {
			return err
		}
	}
	if undecided(doubtful) {
		s.without, err = s.explore(s.Scenario, s.Base, s.Mutant, runs*BaseTimes, s.Seed)
	}
	return err
}

// lost lists what only the unchanged kernel breaks. A lost violation needs no more runs.
func (s *Search) lost() (list []Break) {
	for _, b := range s.breaks() {
		if s.Odds.Worse(&b) {
			b.of = s
			list = append(list, b)
		}
	}
	return list
}

// Sort puts findings that were settled, or tried, where they belong.
func (b *Beside) Sort() {
	b.Open = slices.DeleteFunc(b.Open, func(o *Break) bool {
		if o.tried {
			to := map[verdict]*[]Break{worse: &b.Gained, known: &b.Both, unsure: &b.Unsure}[o.is]
			*to = append(*to, *o)
		}
		return o.tried
	})
	if len(b.Gained) > 0 {
		b.New, b.Gone = nil, nil // a run that ends early gives fewer answers
	}
}

// Want returns the runs that More should make. Where something is broken, the unchanged kernel makes as many as the
// changed one and more, and both go on after it.
func (b *Beside) Want() Want {
	w := Want{b.Full, b.Each}
	if b.Stats.After.Violations > 0 {
		w.Each *= BaseTimes
	}
	return w
}

// some makes the given number of runs on the search's kernel.
func (s *Search) some(runs uint64) (*explore.Result, error) {
	return s.explore(s.Scenario, s.Kernel, s.Mutant, runs, s.Seed)
}

// ends returns the ends that a search's kernel has shown in a number of runs, and that its base doesn't show, neither
// in its own runs nor in BaseTimes as many.
func (s *Search) ends(now, was map[string]uint64, runs uint64) (list []End, err error) {
	texts := onlyEnds(now, was)
	for _, times := range []uint64{1, BaseTimes} {
		if len(texts) == 0 || s.cancelled() {
			return nil, nil
		}
		base, err := s.explore(s.Scenario, s.Base, "", s.Runs*times, s.Seed)
		if err != nil {
			return nil, err
		}
		_, more := joined(base.Looks, nil)
		texts = slices.DeleteFunc(texts, func(text string) bool { return more[text] > 0 })
		list = list[:0]
		for _, text := range texts {
			list = append(list, End{Says: text, Runs: now[text], Of: runs, None: base.Runs})
		}
	}
	return list, nil
}
