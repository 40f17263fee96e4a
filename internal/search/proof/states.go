package proof

import (
	"fmt"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// surveyedStates is how many random runs show what conflicts.
const surveyedStates = 2048

// surveyedLeast is how many do before a search of few deviations, unless one of the last three
// quarters has shown something new. Such a search may be shorter than the survey, and what it
// meets that is new restarts it soon.
const surveyedLeast = 256

// surveyedMost is how many boundaries these runs may have.
const surveyedMost = 4_000_000

// checkedMerges is the sampling rate of the check of merges: one in this many states that are
// reached again is checked to be the same state.
const checkedMerges = 256

// fullByStates runs one schedule from each state for each answer.
func (v *verifier) fullByStates() error {
	return v.byStates(func(search stateSearch) error {
		movers := 2*v.Scenario.Machine.CPUs + len(v.Scenario.Sources) + 1
		if v.Scenario.Machine.Memory == smp.TSO {
			movers += v.Scenario.Machine.CPUs
		}
		if !v.Counted && movers < sched.MostMovers {
			search.s.Sleep()
		}
		complete, err := search.run(!v.All)
		v.Complete, v.Done = complete, -1
		return err
	})
}

// boundedByStates runs all schedules with at most a given number of deviations. Of those that
// reach the same state with the same number left, only one continues from there.
func (v *verifier) boundedByStates() error {
	return v.byStates(func(search stateSearch) error {
		return v.bounded(func(k int) (complete bool, err error) {
			search.s.Bound(k, search.rig.Machine.State().Lead)
			return search.run(false)
		})
	})
}

// A stateSearch is a running search of states.
type stateSearch struct {
	v   *verifier
	rig *rig.Rig
	st  *states
	s   *sched.States

	around sim.Hash // the result of lookAround
}

// byStates makes a search of states.
func (v *verifier) byStates(search func(stateSearch) error) error {
	r := v.Spec.MustRig()
	defer r.Close()
	st := newStates(r)
	s := sched.NewStates(st)
	st.next = s
	v.observe(r, rig.Deaf{})
	around := st.lookAround()
	v.observe(r, surveyor{s})
	least := surveyedStates
	if !v.Full {
		least = surveyedLeast
	}
	surveyStates(r, s, least, surveyedStates)
	check := v.newCheck()
	defer check.rig.Close()
	s.Check(checkedMerges, check.same)
	return search(stateSearch{v, r, st, s, around})
}

// newCheck returns the check of merges.
func (v *verifier) newCheck() *mergeCheck {
	check := newMergeCheck(v.Spec.MustRig())
	v.observe(check.rig, rig.Deaf{})
	return check
}

// run makes all runs of a search. It stops after the first violation if first is set.
func (x stateSearch) run(first bool) (complete bool, err error) {
	v, s := x.v, x.s
	part, restarts, err := x.runs(first)
	if err != nil {
		return false, err
	}
	if x.rig.Machine.State().ReadsClock() {
		return false, fmt.Errorf("%s: its text reads the time-stamp counter, which is another in each state; "+
			"give --by classes", v.Scenario.Name)
	}
	if x.rig.Machine.Footprint().ReadsUninit() {
		return false, fmt.Errorf("%s: its text reads bytes of its stack that it hasn't written, which may be "+
			"others in each state; give --by classes", v.Scenario.Name)
	}
	v.take(part)
	t := s.Stats()
	v.Verified.Runs, v.Pruned, v.Depth = t.Runs, t.Pruned, t.Depth
	v.States, v.Circles, v.Checked, v.Without = t.States, t.Circles, t.Checked, t.Ways
	v.Restarts += restarts
	return s.Complete() && t.Circles <= v.Cut, nil
}

// runs makes them, by one worker or more.
func (x stateSearch) runs(first bool) (part *explore.Part, restarts uint64, err error) {
	v := x.v
	if n := parallel.Workers(v.Workers); n > 1 && v.Full {
		return x.byCrew(n, first)
	}
	return v.run(x.rig, observedBy{x.s, x.st}, func(run rig.Run) {
		if run.Outcome == smp.Exhausted {
			v.Cut++
		}
		x.s.End(run.Counts.Points)
	}, first, v.Memory)
}

// lookedAround is how many of the survey's runs lookAround visits.
const lookedAround = 64

// lookAround names the objects that the states of some runs point to, in the same way on each
// rig of a scenario. It returns a hash of these states, which shows whether two rigs agree.
func (s *states) lookAround() (h sim.Hash) {
	l := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
	for i := range uint64(lookedAround) {
		l.Begin(i)
		n := s.r.Run(&lookingAround{l, s, &h}).Counts
		l.End(n.Points)
		if n.Boundaries > surveyedMost/lookedAround {
			break
		}
	}
	return h
}

type lookingAround struct {
	sim.Chooser
	s *states
	h *sim.Hash
}

// Choose implements sim.Chooser.
func (l *lookingAround) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && p.Seq%4 == 0 {
		l.h.AddHash(l.s.walk())
	}
	return l.Chooser.Choose(p)
}

// surveyStates lets a search learn what conflicts in a number of runs, through its surveyor: least
// runs, and more, up to most, as long as one of the last three quarters has shown something new.
// After it most of what CPUs share is known, too.
func surveyStates(rig *rig.Rig, s *sched.States, least, most int) {
	l := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
	s.Grew()
	rig.Machine.Footprint().SharedGrew()
	for i, left := 0, uint64(surveyedMost); i < min(least, most); i++ {
		l.Begin(uint64(i))
		n := rig.Run(l).Counts
		l.End(n.Points)
		if grew, shared := s.Grew(), rig.Machine.Footprint().SharedGrew(); grew || shared {
			least = max(least, 4*(i+1))
		}
		if n.Boundaries > left { // endless runs show nothing more
			break
		}
		left -= n.Boundaries
	}
}

// surveyor passes steps of runs that aren't its own to a search.
type surveyor struct{ s *sched.States }

// Stepped implements sim.Observer.
func (l surveyor) Stepped(mv sim.Mover, touched []sim.Touch) { l.s.Learn(mv, touched) }

// observedBy is a search of states that receives steps through a states.
type observedBy struct {
	*sched.States
	*states
}

// End implements sched.Strategy. The search gets the end of a run elsewhere.
func (observedBy) End(uint64) {}

// Begin implements sched.Strategy.
func (o observedBy) Begin(i uint64) bool { return o.States.Begin(i) }

// Stepped implements sim.Observer.
func (o observedBy) Stepped(mv sim.Mover, touched []sim.Touch) { o.states.Stepped(mv, touched) }

// grew implements grower.
func (o observedBy) grew() bool { return o.States.Grew() }

// A mergeCheck compares two ways that are said to lead to the same state: runs must continue
// identically from both.
type mergeCheck struct {
	rig   *rig.Rig
	trail [2][]sim.Hash // the state at each question from there on
	end   [2]string
}

// newMergeCheck returns a mergeCheck that runs on a rig of its own. The rig must be observed
// in the same way as the search's.
func newMergeCheck(rig *rig.Rig) *mergeCheck {
	rig.Machine.State().ScrubStacks(true)
	return &mergeCheck{rig: rig}
}

// mergeSeeds is the number of seeds with which it continues from both.
const mergeSeeds = 2

// same panics, as for a bug of the simulator, if the continuations differ.
func (c *mergeCheck) same(first, again sched.Way) {
	if why := c.differ(first, again); why != "" {
		sim.Bug("two ways lead to states that are told to be the same, and aren't: %s\nfirst: %v\nagain: %v", why,
			first, again)
	}
}

// differ describes how the continuations differ, "" if they don't.
func (c *mergeCheck) differ(first, again sched.Way) string {
	for seed := range uint64(mergeSeeds) {
		c.follow(0, first, seed)
		c.follow(1, again, seed)
		for i, q := range c.trail[0] {
			if i >= len(c.trail[1]) || c.trail[1][i] != q {
				return fmt.Sprintf("question %d behind them is another", i)
			}
		}
		if len(c.trail[0]) != len(c.trail[1]) || c.end[0] != c.end[1] {
			return fmt.Sprintf("one comes to %s, the other to %s", c.end[0], c.end[1])
		}
	}
	return ""
}

// follow follows a way, continues from its end, and records the states.
func (c *mergeCheck) follow(k int, w sched.Way, seed uint64) {
	c.trail[k] = c.trail[k][:0]
	run := c.rig.Run(sched.NewOnward(w, seed, func(p *sim.Point) {
		h := sim.Hash{Hi: uint64(p.Kind), Lo: uint64(p.N)}
		for _, m := range p.Moves {
			h.Add(m)
		}
		c.trail[k] = append(c.trail[k], h)
	}))
	broken := "nothing broken"
	if run.Property != nil {
		broken = run.Property.Name
	}
	c.end[k] = fmt.Sprintf("%v, %s, %#x", run.Outcome, broken, c.rig.Final())
}
