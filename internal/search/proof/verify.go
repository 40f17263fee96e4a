package proof

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Proof says what to verify: every schedule, not a sample of them.
type Proof struct {
	// Scenario, Mutant, Ignore, Past, Workers, Blind and Cancelled count; Runs is how many at most, 0 all
	explore.Spec
	Deviations int   // every schedule of at most so many deviations
	Full       bool  // every schedule there is
	Classes    bool  // those apart that differ in the order of steps that don't commute, whatever state they reach
	Uncounted  bool  // Full, not Classes: Without isn't told, for fewer runs
	All        bool  // go on after something was broken
	Memory     int   // bytes that what is known of states may take, counted and not measured; 0: as many as it wants
	Watch      Watch // if not nil, is called now and then, by several goroutines

	// Back, if not nil, is called with Watch, and told how far the verification is, in millionths.
	// That is rough: what isn't known yet isn't counted. It may become less.
	Back Watch
}

// A Watch is called with the progress of a verification: schedules run,
// violations among them, and how much of what is known so far was run, in
// millionths.
type Watch func(runs, violations, done uint64)

// Verified is the result of a verification.
type Verified struct {
	Runs     uint64 // schedules, of the last go
	Pruned   uint64 // of Runs, those that showed nothing new: they reached a state where another was
	Cut      uint64 // of Runs, those whose budget was out: what comes after wasn't seen
	Filled   bool   // Memory was full, and so it isn't complete
	Restarts uint64 // how often a run showed more to be shared than was known, and all began anew
	Depth    int    // of the deepest: events of the longest run, or deviations
	Points   uint64 // questions asked
	Complete bool   // all was run
	// not Full: every schedule of at most so many deviations was run; -1: not even the default one
	Done       int
	Broken     map[string]uint64 // how many runs broke each property, by its name
	After      map[string]uint64 // of these, how many had broken another one before
	Violations uint64
	Witnesses  []*shrink.Witness // one of each property broken, in the order of the catalogue
	Found      []shrink.Found    // what they are made of, with Blind, too: for Shrink
	Racing     []Racing          // Classes: at what the most races were, most first

	// Not Classes.
	States int // that were told apart
	// Circles counts the pruned runs that reached a state again on the way from it: they have no end,
	// and went on until the budget was out.
	Circles uint64
	Checked uint64     // of Pruned, those of which it was checked that the state is the same
	Without sched.Ways // Full: how many schedules there are; 0 unless Complete
}

// Racing is an object and how many races there were at it.
type Racing struct {
	Object string `json:"object"`
	Races  uint64 `json:"races"`
}

// Verify runs every schedule of a kind. Errors are about the input; a bug of
// the simulator panics with a *Crash.
func Verify(p Proof) (*Verified, error) {
	if m := &p.Scenario.Machine; m.Stall > 0 {
		return nil, fmt.Errorf("%s: machine(stall = %d) looks at clocks, which are no part of a state: leave "+
			"stall out, or use explore", p.Scenario.Name, m.Stall)
	}
	rig, err := p.Spec.NewRig()
	if err != nil {
		return nil, err
	}
	run := rig.Run(new(sched.Default))
	rig.Close()
	if run.Outcome == smp.Refused {
		return nil, fmt.Errorf("%s: %w", p.Scenario.Name, run.Err)
	}
	v := &verifier{Proof: p}
	v.Verified.Broken, v.Verified.After = make(map[string]uint64), make(map[string]uint64)
	switch {
	case p.Full && p.Classes:
		err = v.classes()
	case p.Full:
		err = v.fullByStates()
	case p.Classes:
		err = v.bounded(v.atMost)
	default:
		err = v.boundedByStates()
	}
	if err != nil {
		return nil, err
	}
	for _, p := range properties.All {
		for i := range v.found {
			if v.found[i].Property == p.Name {
				v.Found = append(v.Found, v.found[i])
			}
		}
	}
	v.Filled = v.filled.Load()
	if !p.Blind {
		if v.Witnesses, err = shrink.Witnesses(p.Origin(), v.Found); err != nil {
			return nil, err
		}
	}
	return &v.Verified, nil
}

// A verifier is a verification under way.
type verifier struct {
	Proof
	Verified
	found  []shrink.Found
	runs   atomic.Uint64
	broken atomic.Uint64
	stop   atomic.Bool
	filled atomic.Bool
	level  int           // how many deviations the schedules have that are run now, unless Full
	shares uint64        // into which these are dealt out; 0: they aren't
	ends   atomic.Uint64 // of them
}

// ended reports whether the user has had enough, or Runs are made.
func (v *verifier) ended() bool {
	return v.stop.Load() || v.Cancelled != nil && v.Cancelled.Load() || v.Spec.Runs > 0 && v.runs.Load() >= v.Spec.Runs
}

// A search is a strategy that runs every schedule of a kind.
type search interface {
	sched.Strategy
	sim.Observer
	Restart()
	Progress() uint64
}

// A weigher is a search that knows how much memory it takes.
type weigher interface{ Bytes() int }

// A grower is a search that may find out itself that it is to begin anew.
type grower interface{ grew() bool }

// observe makes o be told of a rig's steps. An interrupt is one step only where
// deviations aren't counted: the mover that the machine lets go on within it
// may not be the default one, and is the default from then on.
func (v *verifier) observe(rig *rig.Rig, o sim.Observer) {
	if v.Full {
		rig.ObserveAtomicIRQs(o)
	} else {
		rig.Observe(o)
	}
}

// oneMore is about how many times as many schedules there are with one deviation more.
const oneMore = 15

// back tells how far the verification is, after n runs, by one of its searches.
func (v *verifier) back(s search, n uint64) {
	const whole = 1_000_000
	if v.Back == nil {
		return
	}
	if e, ok := s.(ender); ok {
		s = e.search
	}
	done := s.Progress()
	if b, ok := s.(interface{ GoneBack() uint64 }); ok {
		done = b.GoneBack()
	}
	if v.shares > 0 { // one of them speaks for itself only
		done = (v.ends.Load()*whole + done) / v.shares
	}
	if !v.Full { // fewer deviations come first, and take less
		for range v.Deviations - v.level {
			done /= oneMore
		}
	}
	v.Back(n, v.broken.Load(), min(done, whole-1))
}

// watchEvery is after how many runs a Watch is called.
const watchEvery = 256

// weigherOf is what knows how much memory a search takes.
func weigherOf(s search) (weigher, bool) {
	if e, ok := s.(ender); ok {
		w, ok := e.search.(weigher)
		return w, ok
	}
	w, ok := s.(weigher)
	return w, ok
}

// run makes all runs of s. It stops after the first violation if first is set, and when
// the search takes more than most bytes, unless most is 0.
// It returns what they showed, and whether the search began anew, how often.
func (v *verifier) run(rig *rig.Rig, s search, end func(rig.Run), first bool, most int) (part *explore.Part,
	restarts uint64, err error) {
	part = new(explore.Part)
	part.Begin(0)
	rec := &sched.Recorder{Strategy: s}
	v.observe(rig, s)
	for i := uint64(0); !v.ended() && rec.Begin(i); i++ {
		run := rig.Run(rec)
		rec.End(run.Counts.Points) // of the recorder: s is told by end
		if run.Outcome == smp.Refused {
			return nil, 0, fmt.Errorf("%s: %w", v.Scenario.Name, run.Err)
		}
		end(run)
		part.Take(i, run, rec)
		if run.Property != nil {
			v.broken.Add(1)
		}
		if n := v.runs.Add(1); n%watchEvery == 0 && v.Watch != nil {
			v.Watch(n, v.broken.Load(), s.Progress())
			v.back(s, n)
		}
		if run.Property != nil && first {
			break
		}
		if w, ok := weigherOf(s); ok && most > 0 && w.Bytes() > most {
			v.filled.Store(true) // the other searches go on: what each does depends on none
			break
		}
		grew := rig.Machine.Footprint().SharedGrew()
		if g, ok := s.(grower); ok {
			grew = g.grew() || grew
		}
		if grew {
			s.Restart()
			restarts++
			v.Cut = 0
			part = new(explore.Part)
			part.Begin(0)
		}
	}
	return part, restarts, nil
}

// take adds what a search has shown.
func (v *verifier) take(part *explore.Part) {
	v.Points += part.Counts.Points
	v.Violations += part.Violations
	for _, p := range properties.All {
		if n := part.Broken[p.Name]; n > 0 {
			v.Broken[p.Name] += n
			v.After[p.Name] += part.After[p.Name]
		}
	}
	part.End()
	v.found = append(v.found, part.Found...)
}

// ender tells a search of the end of a run itself.
type ender struct{ search }

// End implements sched.Strategy.
func (ender) End(uint64) {}

// classes runs one schedule of each class there is.
func (v *verifier) classes() error {
	r := v.Spec.MustRig()
	defer r.Close()
	f := sched.NewFull()
	learn(r, f)
	part, restarts, err := v.run(r, ender{f}, func(run rig.Run) {
		if run.Outcome == smp.Exhausted {
			v.Cut++
		}
		if run.Early {
			f.Cut()
		} else {
			f.End(run.Counts.Points)
		}
	}, !v.All, v.Memory)
	if err == nil && f.Crowded() {
		err = fmt.Errorf("%s: --full --by classes tells 64 CPUs, interrupts and sources apart at most; give "+
			"--by states, or fewer cpus", v.Scenario.Name)
	}
	if err != nil {
		return err
	}
	v.take(part)
	s := f.Stats()
	v.Verified.Runs, v.Pruned, v.Depth = s.Runs+s.Blocked, s.Blocked, s.Depth
	v.Restarts, v.Complete, v.Done = restarts, f.Complete(), -1
	v.racing(r, f)
	return nil
}

// learnt is how many runs at random show what interrupts touch.
const learnt = 64

// learn tells a search what the steps of some runs touch; what CPUs share is
// known after that, too, mostly.
func learn(rig *rig.Rig, f *sched.Full) {
	rig.ObserveAtomicIRQs(learner{f})
	s := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
	for i := range uint64(learnt) {
		s.Begin(i)
		s.End(rig.Run(s).Counts.Points)
	}
	rig.Machine.Footprint().SharedGrew()
}

type learner struct{ f *sched.Full }

// Stepped implements sim.Observer.
func (l learner) Stepped(mv sim.Mover, touched []sim.Touch) { l.f.Learn(mv, touched) }

// racingMost is how many objects are reported.
const racingMost = 12

// racing notes at what the most races were.
func (v *verifier) racing(rig *rig.Rig, f *sched.Full) {
	f.Racing(func(o sim.Object, n uint64) {
		v.Racing = append(v.Racing, Racing{rig.Machine.Names().Object(o), n})
	})
	slices.SortFunc(v.Racing, func(a, b Racing) int {
		return cmp.Or(cmp.Compare(b.Races, a.Races), cmp.Compare(a.Object, b.Object))
	})
	v.Racing = v.Racing[:min(len(v.Racing), racingMost)]
}

// bounded runs all schedules of no deviation, then all of at most one, and so
// on: so what is found first needs the fewest. What is broken by so many ends
// it, unless All is set; the schedules of as many are all run.
func (v *verifier) bounded(level func(k int) (bool, error)) error {
	v.Done = -1
	for k := 0; k <= v.Deviations && !v.ended() && !v.filled.Load(); k++ {
		v.Verified.Runs, v.Pruned, v.Points, v.Cut, v.Violations = 0, 0, 0, 0, 0
		clear(v.Broken)
		clear(v.After)
		v.found = nil
		v.level = k
		complete, err := level(k)
		if err != nil {
			return err
		}
		v.Depth = k
		if complete {
			v.Done = k
		}
		if v.Violations > 0 && !v.All {
			break
		}
	}
	v.Complete = v.Done == v.Deviations
	return nil
}

// atMost runs all schedules of at most k deviations, dealt out to a number of
// searches that doesn't depend on how many workers there are.
func (v *verifier) atMost(k int) (complete bool, err error) {
	of := explore.MostShares
	if k == 0 {
		of = 1
	}
	var all [explore.MostShares]struct {
		part     *explore.Part
		restarts uint64
		b        *sched.Bounded
		cut      uint64
		err      error
	}
	v.shares = uint64(of)
	v.ends.Store(0)
	parallel.Run(v.Workers, of, &v.stop, func() (do func(job int), close func()) {
		return func(i int) {
			s := &all[i]
			r := v.Spec.MustRig() // each knows as much of what is shared, or as little
			defer r.Close()
			s.b = sched.NewBounded(k, uint64(i), uint64(of), r.Machine.State().Lead)
			s.part, s.restarts, s.err = v.run(r, ender{s.b}, func(run rig.Run) {
				if run.Outcome == smp.Exhausted {
					s.cut++
				}
				s.b.End(run.Counts.Points)
			}, false, v.Memory/of)
			v.ends.Add(1)
		}, func() {}
	})
	complete = true
	for i := range all[:of] {
		s := &all[i]
		if s.err != nil {
			return false, s.err
		}
		if s.b == nil { // not started
			complete = false
			continue
		}
		v.take(s.part)
		st := s.b.Stats()
		v.Verified.Runs += st.Runs
		v.Pruned += st.Pruned
		v.Cut += s.cut
		v.Restarts += s.restarts
		complete = complete && s.b.Complete()
	}
	return complete, nil
}
