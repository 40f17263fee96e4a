package run

import (
	"cmp"
	"slices"
	"sync/atomic"

	"kpsim/internal/litmus/axioms"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Program is a litmus test as the machine runs it.
type Program interface {
	// CPUs is how many CPUs the machine has.
	CPUs() int

	// Build puts the test's text, data and tasks into a machine that has nothing yet.
	Build(m *smp.Machine) error

	// Begin puts what the program itself remembers of a run back to the beginning.
	Begin()

	// AddState adds to a hash what the program remembers.
	AddState(h *sim.Hash)

	// Outcome describes the state after a run, and says whether the test's condition holds in it.
	// counts is false for a state that the test's filter excludes.
	Outcome(m *smp.Machine) (text string, holds, counts bool)
}

// Options of a search.
type Options struct {
	Memory Memory
	Most   int          // states of the machine that are visited at most; 0: DefaultMost
	Stop   *atomic.Bool // set: give up; nil: never

	Far func(millionths uint64) // told now and then how much of the search is done; may be nil
}

// DefaultMost is how many states of the machine a search visits by default.
const DefaultMost = 1_000_000

// budget is how many boundaries a run has: more than 16 threads of 256 instructions
// have. A loop that goes round in a state is cut off there.
const budget = 8192

// learning is how many drawn runs show, before the search, what is shared.
const learning = 24

// drawn is how many drawn runs are made of a program that has too many states.
const drawn = 4096

// A Result is what a search has found.
type Result struct {
	Outcomes []Outcome // in the order of their texts
	Runs     uint64
	States   int  // of the machine, or executions that were tried
	Complete bool // all schedules or executions are covered; else the search was stopped
	Stopped  bool // by Options.Stop
	Unlisted bool // there are more outcomes; they change nothing about the condition
	Endless  bool // there are schedules that don't end: threads wait
	Race     *axioms.Race
}

// An Outcome is one final state, with a schedule or an execution that leads to it.
type Outcome struct {
	Text     string
	Holds    bool
	Schedule *sched.Recording
	Accesses []axioms.Access
}

// Search runs all schedules of a program, but of those that reach the same state of
// the machine only one. It stops at Options.Most states, and draws some runs more.
func Search(p Program, o Options) (*Result, error) {
	h, err := newHarness(p, o.Memory)
	if err != nil {
		return nil, err
	}
	defer h.m.Close()
	s := sched.NewStates(h)
	if err := h.learn(s); err != nil {
		return nil, err
	}
	s.Sleep()
	h.m.Footprint().Observe(s)
	most := cmp.Or(o.Most, DefaultMost)
	rec := &sched.Recorder{Strategy: holding{s}}
	r := &Result{}
	found := make(map[string]int)
	for i := uint64(0); rec.Begin(i); i++ {
		if r.Stopped = o.Stop != nil && o.Stop.Load(); r.Stopped {
			return r.sorted(s), nil
		}
		if s.Stats().States > most {
			err := r.draw(found, h)
			return r.sorted(s), err
		}
		end, err := h.run(rec)
		if err != nil {
			return nil, err
		}
		rec.End(h.m.Counts().Points)
		if r.Runs++; o.Far != nil && r.Runs%256 == 0 {
			o.Far(s.Progress())
		}
		switch end {
		case smp.Exhausted, smp.Stuck:
			r.Endless = true
		case smp.Passed:
			r.take(found, h, rec.Recording())
		}
		if grew := h.m.Footprint().SharedGrew(); s.Grew() || grew {
			s.Restart()
		}
	}
	r.Complete = true
	return r.sorted(s), nil
}

// draw makes drawn runs of a program whose states are too many: what they show is shown.
func (r *Result) draw(found map[string]int, h *harness) error {
	h.m.Footprint().Observe(nil)
	rec := &sched.Recorder{Strategy: holding{sched.NewRandom(sched.Params{Seed: 1})}}
	for i := range uint64(drawn) {
		rec.Begin(i)
		end, err := h.run(rec)
		if err != nil {
			return err
		}
		rec.End(h.m.Counts().Points)
		if r.Runs++; end == smp.Passed {
			r.take(found, h, rec.Recording())
		}
	}
	return nil
}

func (r *Result) sorted(s *sched.States) *Result {
	r.States = s.Stats().States
	slices.SortFunc(r.Outcomes, func(a, b Outcome) int { return cmp.Compare(a.Text, b.Text) })
	return r
}

// take adds the final state of a run. Of two schedules it keeps the one with fewer deviations.
func (r *Result) take(found map[string]int, h *harness, rec *sched.Recording) {
	text, holds, counts := h.p.Outcome(h.m)
	if !counts {
		return
	}
	n, again := found[text]
	if again && len(rec.Choices) >= len(r.Outcomes[n].Schedule.Choices) {
		return
	}
	o := Outcome{Text: text, Holds: holds,
		Schedule: &sched.Recording{Choices: slices.Clone(rec.Choices), Asked: rec.Asked}}
	if again {
		r.Outcomes[n] = o
		return
	}
	found[text] = len(r.Outcomes)
	r.Outcomes = append(r.Outcomes, o)
}
