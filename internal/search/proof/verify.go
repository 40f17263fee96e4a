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

// A Proof says what to verify: every schedule of a kind, instead of a sample.
type Proof struct {
	// Scenario, Mutant, Ignore, Past, Workers, Blind and Cancelled are used; Runs is the largest
	// number of runs, 0 for all.
	explore.Spec
	Deviations int   // the largest number of deviations
	Full       bool  // run every schedule
	Classes    bool  // one schedule for each order of the steps that don't commute, whatever state it reaches
	Counted    bool  // with Full, without Classes: Without is computed, which takes two to three times the runs
	All        bool  // continue after a violation
	Memory     int   // limit in bytes for the known states, computed and not measured; 0: no limit
	Watch      Watch // if not nil, is called now and then, by several goroutines

	// Back, if not nil, is called with Watch, and receives the estimated progress of the
	// verification, in millionths. It is rough: what isn't known yet isn't counted. It may
	// decrease.
	Back Watch
}

// A Watch is called with the progress of a verification: schedules run, violations among them,
// and the share of what is known so far that was run, in millionths.
type Watch func(runs, violations, done uint64)

// Verified is the result of a verification.
type Verified struct {
	Runs     uint64 // schedules of the last attempt
	Pruned   uint64 // out of Runs: those that showed nothing new, because they reached a known state
	Cut      uint64 // out of Runs: those whose budget ran out, so that their continuation wasn't seen
	Filled   bool   // Memory was full, so the result isn't complete
	Restarts uint64 // how often a run showed that more is shared than was known, and everything began anew
	Depth    int    // the maximum: events of the longest run, or deviations
	Points   uint64 // questions asked
	Complete bool   // everything was run
	// Done, without Full, is the number of deviations up to which every schedule was run; -1: not
	// even the default one
	Done       int
	Broken     map[string]uint64 // how many runs broke each property, by its name
	After      map[string]uint64 // out of these, how many had broken another property before
	Violations uint64
	Witnesses  []*shrink.Witness // one for each broken property, in the order of the catalogue
	Found      []shrink.Found    // what witnesses are made from, also with Blind: for Shrink
	Racing     []Racing          // with Classes: the objects with the most races, most first

	// The fields below are set without Classes.
	States int // distinct states
	// Circles counts the pruned runs that came back to a state on their own way. They have no end,
	// and continued until the budget was used up.
	Circles uint64
	Checked uint64     // out of Pruned: those whose state was checked to be the same
	Without sched.Ways // with Counted: the number of schedules; 0 unless Complete
}

// Racing is an object and the number of races at it.
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
	level  int           // without Full: how many deviations the current schedules have
	shares uint64        // the number of shares of these schedules; 0: they aren't divided
	ends   atomic.Uint64 // finished shares
}

// ended reports whether the user has cancelled, or Runs are made.
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

// A weigher is a search that knows how much memory it uses.
type weigher interface{ Bytes() int }

// A grower is a search that may find out itself that it must begin anew.
type grower interface{ grew() bool }

// observe makes o receive a rig's steps. An interrupt is one step only where deviations aren't
// counted. The mover that the machine lets continue within it may not be the default one, and
// is the default from then on.
func (v *verifier) observe(rig *rig.Rig, o sim.Observer) {
	if v.Full {
		rig.ObserveAtomicIRQs(o)
	} else {
		rig.Observe(o)
	}
}

// oneMore is the approximate factor by which one more deviation multiplies the number of
// schedules.
const oneMore = 15

// back reports the progress of the verification after n runs, as seen by one of its searches.
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
	if v.shares > 0 { // a share speaks for itself only
		done = (v.ends.Load()*whole + done) / v.shares
	}
	if !v.Full { // fewer deviations come first, and take less
		for range v.Deviations - v.level {
			done /= oneMore
		}
	}
	v.Back(n, v.broken.Load(), min(done, whole-1))
}

// watchEvery is the number of runs between calls of a Watch.
const watchEvery = 256

// weigherOf returns the part of a search that knows its memory use.
func weigherOf(s search) (weigher, bool) {
	if e, ok := s.(ender); ok {
		w, ok := e.search.(weigher)
		return w, ok
	}
	w, ok := s.(weigher)
	return w, ok
}

// run makes all runs of s. It stops after the first violation if first is set, and when the
// search uses more than most bytes, unless most is 0. It returns what the runs showed, and how
// often the search began anew.
func (v *verifier) run(rig *rig.Rig, s search, end func(rig.Run), first bool, most int) (part *explore.Part,
	restarts uint64, err error) {
	part = new(explore.Part)
	part.Begin(0)
	rec := &sched.Recorder{Strategy: s}
	v.observe(rig, s)
	for i := uint64(0); !v.ended() && rec.Begin(i); i++ {
		run := rig.Run(rec)
		rec.End(run.Counts.Points) // of the recorder; s gets the end of the run through end
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
			v.filled.Store(true) // the other searches continue: they are independent of each other
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

// take adds the results of a search.
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

// ender is a search that is notified of the end of a run directly.
type ender struct{ search }

// End implements sched.Strategy.
func (ender) End(uint64) {}

// classes runs one schedule of each class.
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

// learnt is how many random runs show what interrupts touch.
const learnt = 64

// learn passes the steps of some runs to a search. After it most of what CPUs share is known,
// too.
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

// racing records the objects with the most races.
func (v *verifier) racing(rig *rig.Rig, f *sched.Full) {
	f.Racing(func(o sim.Object, n uint64) {
		v.Racing = append(v.Racing, Racing{rig.Machine.Names().Object(o), n})
	})
	slices.SortFunc(v.Racing, func(a, b Racing) int {
		return cmp.Or(cmp.Compare(b.Races, a.Races), cmp.Compare(a.Object, b.Object))
	})
	v.Racing = v.Racing[:min(len(v.Racing), racingMost)]
}

// bounded runs all schedules without deviations, then all with at most one, and so on, so the
// first violation found needs the fewest. A violation ends it, unless All is set, after all
// schedules with the same number of deviations have run.
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

// atMost runs all schedules with at most k deviations. They are divided among a number of
// searches that doesn't depend on the number of workers.
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
			r := v.Spec.MustRig() // each search knows the same about shared memory
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
