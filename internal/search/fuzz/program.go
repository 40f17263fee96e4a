package fuzz

import (
	"errors"
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Program is one that was run.
type Program struct {
	Recipe gen.Recipe
	Parts  []string // of its scenario

	Runs       uint64
	Points     uint64
	Violations uint64
	During     uint64            // runs in which a jump was written in a function while a task was in a call of it
	Optimizes  bool              // its machine writes jumps
	Broken     map[string]uint64 // how many runs broke each property, by its name; nil: none
	First      map[string]uint64 // the number of the first such run
	Edition    rules.Edition
	Kept       bool   // others are made from it
	Refused    bool   // the kernel has no such thing: it wasn't run
	Otherwise  string // what a kernel answers otherwise than by the rules, if that was asked (answers.go)
	Like       string // the known difference that this is, "" if none

	features []uint64
	blocks   []uint32 // of a kernel, those that were reached first in this program
	whole    bool     // it was run to its end
	how      arm      // how it was made
	from     *kept    // of what
	number   uint64   // among all that islands run
}

// Scenario draws the scenario of a recipe as a session has it.
func (s *Spec) Scenario(r *gen.Recipe) (sc *scenario.Scenario, parts []string, err error) {
	sc, parts = gen.Of(r, s.On)
	if s.Kernel != nil {
		return sc, parts, sc.SetLinux(s.Kernel)
	}
	return sc, parts, nil
}

// Describe fills in what Session.Read and Fold leave out of a program: Parts, Edition and
// Optimizes.
func (s *Spec) Describe(p *Program) error {
	sc, parts, err := s.Scenario(&p.Recipe)
	if err == nil {
		p.Parts, p.Edition, p.Optimizes = parts, sc.Machine.Edition, sc.Machine.Optimizes()
	}
	return err
}

// otherStrategies are those that one program in other is run with: they see other orders,
// but half of their runs have a task do all it does before another begins.
var otherStrategies = [...]string{"sticky", "arriving", "pct", "pos", "deviations"}

const other = 12

// delayMost is how many questions work may be delayed in most programs: else callers make
// many rounds while the task that calls the API waits for it.
const delayMost = 200

// schedules says how a program's schedules are made: by which strategy, and Params.Delay.
func (s *Spec) schedules(r *gen.Recipe) (strategy string, delay uint64) {
	var rand sim.Rand
	rand.Seed(r.Hash(), 1)
	strategy = "random"
	if rand.N(other) == 0 {
		strategy = otherStrategies[rand.N(len(otherStrategies))]
	}
	if s.Strategy != "" {
		strategy = s.Strategy
	}
	if rand.N(8) > 0 {
		delay = 1 + uint64(rand.N(delayMost))
	}
	return strategy, delay
}

// Explore is the exploration that makes the same runs of a recipe's program, so many.
func (s *Spec) Explore(r *gen.Recipe, runs uint64) (explore.Spec, error) {
	sc, _, err := s.Scenario(r)
	if err != nil {
		return explore.Spec{}, err
	}
	strategy, delay := s.schedules(r)
	return explore.Spec{Scenario: sc, Mutant: s.Mutant, Strategy: strategy, Runs: runs, Seed: r.Hash(), Delay: delay, Workers: s.Workers}, nil
}

// A runner runs programs, one after the other.
type runner struct {
	spec  *Spec
	known func(feature uint64) bool // whether a program of a batch before, or of the island, has shown it
	shown shown
	conflicts
	reach reach
}

// run runs a program: a few schedules, and more as long as the last ones have shown what
// no program before, and none of its schedules before, has. Errors are the tool's.
func (w *runner) run(p *Program) error {
	sc, parts, err := w.spec.Scenario(&p.Recipe)
	if err != nil {
		p.Refused, p.whole = true, true // what is drawn is sound; so it's the kernel that has no such thing
		return nil
	}
	p.Parts, p.Edition, p.Optimizes = parts, sc.Machine.Edition, sc.Machine.Optimizes()
	if err := lang.Check(sc); err != nil {
		sim.Bug("%s was drawn, and is wrong: %v", sc.Name, err)
	}
	r, err := rig.New(sc, w.spec.Mutant)
	if err != nil {
		return fmt.Errorf("%s: %w", sc.Name, err)
	}
	defer r.Close()
	strategy, delay := w.spec.schedules(&p.Recipe)
	shape, _ := r.Survey(delay)
	params := sched.Params{Seed: p.Recipe.Hash(), Shape: shape, Delay: delay}
	schedules, err := sched.New(strategy, params)
	if err != nil {
		return err
	}
	if sched.ObserverOf(schedules) != nil { // what it is told of must be what it is told when the runs are made again
		r.Learnt()
	}
	var first uint64 // the digest of the first run
	w.shown.begin(sc)
	w.conflicts.begin(r, &w.shown, p.Recipe.Hash()%observedIn == 0)
	r.Log.Subscribe(&w.shown, shownKinds...)
	most, old := w.spec.Each, 0
	for i := uint64(0); i < most; i++ {
		if w.spec.stopped() {
			return ErrStopped
		}
		w.shown.run()
		run, more := r.NextWatched(schedules, i, &w.conflicts)
		if !more {
			break
		}
		if run.Outcome == smp.Refused {
			return fmt.Errorf("%s: %w", sc.Name, run.Err)
		}
		if p.took(&run, i); i == 0 {
			first = run.Digest
		}
		if i+1 == most && most < w.spec.Each*longer && w.news(&old) {
			most += w.spec.Each
		}
	}
	p.features = append([]uint64(nil), w.shown.list...)
	if p.Recipe.Hash()%repeatedIn == 1 {
		again, err := sched.New(strategy, params)
		if err != nil {
			return err
		}
		if run, more := r.Next(again, 0); more && run.Digest != first {
			sim.Bug("%s: the first schedule, run again after %d others, is another run: something isn't reset", sc.Name, p.Runs-1)
		}
	}
	p.blocks = w.reach.of(r.Machine, p.blocks)
	p.Otherwise, p.Like = w.spec.Answers(p)
	p.whole = true
	return nil
}

// repeatedIn: the first schedule of one program in so many is run once more behind the others,
// and must be the same run, whatever these have left behind.
const repeatedIn = 4

// longer is how many times as many schedules as others a program may have that goes on
// showing what is new.
const longer = 6

// ErrStopped says that a session was stopped while a program was run.
var ErrStopped = errors.New("stopped")

// news reports whether features were shown since it was asked last that no program before
// has shown.
func (w *runner) news(old *int) bool {
	list := w.shown.list[*old:]
	*old = len(w.shown.list)
	for _, f := range list {
		if !w.known(f) {
			return true
		}
	}
	return false
}

// took takes the result of run number i.
func (p *Program) took(run *rig.Run, i uint64) {
	p.Runs++
	p.Points += run.Counts.Points
	if run.During {
		p.During++
	}
	if run.Property == nil {
		return
	}
	p.Violations++
	if p.Broken == nil {
		p.Broken, p.First = make(map[string]uint64), make(map[string]uint64)
	}
	name := run.Property.Name
	if p.Broken[name]++; p.Broken[name] == 1 {
		p.First[name] = i
	}
}
