package fuzz

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A Program is one that was run.
type Program struct {
	Recipe gen.Recipe
	Parts  []string // of its scenario

	Runs       uint64
	Points     uint64
	Violations uint64
	During     uint64 // runs in which a jump was written in a function while a task was in a call of it
	Optimizes  bool   // its machine writes jumps
	// what its runs have broken, by property and how it reads; in the order of the properties, and of their first runs
	Broken    []Broke
	Edition   rules.Edition
	Kept      bool   // others are made from it
	Refused   bool   // the kernel has no such thing: it wasn't run
	Otherwise string // what a kernel answers otherwise than by the rules, if that was asked (answers.go)
	Like      string // the known difference that this is, "" if none

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
	return explore.Spec{Scenario: sc, Mutant: s.Mutant, Strategy: strategy, Runs: runs, Seed: r.Hash(), Delay: delay,
		Workers: s.Workers}, nil
}

// A runner runs programs, one after the other.
type runner struct {
	spec  *Spec
	known func(feature uint64) bool // whether a program of a batch before, or of the island, has shown it
	shown shown
	calls calls
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
	if err := scenario.Check(sc); err != nil { // not lang.Check: it prints what is drawn, which is never near the bound of a program
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
	w.calls = calls{}
	r.Log.Subscribe(&w.calls, kpev.ApiEnter, kpev.ApiReturn)
	most, old := w.spec.Each, 0
	for i := uint64(0); i < most; i++ {
		if w.spec.stopped() {
			return ErrStopped
		}
		w.shown.run()
		w.calls = calls{}
		run, more := r.NextWatched(schedules, i, &w.conflicts)
		if !more {
			break
		}
		if run.Outcome == smp.Refused {
			return fmt.Errorf("%s: %w", sc.Name, run.Err)
		}
		if p.took(r, &run, i, &w.calls); i == 0 {
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
			sim.Bug("%s: the first schedule, run again after %d others, is another run: something isn't reset", sc.Name,
				p.Runs-1)
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
func (p *Program) took(r *rig.Rig, run *rig.Run, i uint64, c *calls) {
	p.Runs++
	p.Points += run.Counts.Points
	if run.During {
		p.During++
	}
	if run.Property == nil {
		return
	}
	p.Violations++
	b := Broke{run.Property.Name, kind(r.Plain(run.Finding.Message) + c.of(run.Finding.Message)), 1, i}
	kinds := 0
	for k := range p.Broken {
		c := &p.Broken[k]
		if c.Property != b.Property {
			continue
		}
		if kinds++; kinds == kindsMost || c.Kind == b.Kind {
			c.Runs++
			return
		}
	}
	p.Broken = append(p.Broken, b)
	slices.SortStableFunc(p.Broken, func(a, b Broke) int { return rank(a.Property) - rank(b.Property) })
}

// kindsMost is how many ways of a program to break a property are told apart: others count as the last.
const kindsMost = 4

// calls are those of the API that tasks of a run are in. It implements traces.Sink.
type calls [256]uint8 // by task: the call and 1; 0: none

// Event implements traces.Sink.
func (c *calls) Event(e *traces.Event) *traces.Finding {
	c[e.Task] = 0
	if e.Kind == kpev.ApiEnter {
		c[e.Task] = uint8(e.A) + 1
	}
	return nil
}

// of names the call that the task of a finding was in; "" if it was in none.
func (c *calls) of(finding string) string {
	var cpu, task int
	if n, _ := fmt.Sscanf(finding, "cpu%d task%d ", &cpu, &task); n < 2 || task < 0 || task >= len(c) || c[task] == 0 {
		return ""
	}
	return fmt.Sprintf(" in call %d", c[task])
}

// kind is a hash of how a finding reads without numbers, places and names.
func kind(words string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(words))
	return h.Sum64()
}

// rank is a property's place in the catalogue; of no property it is the number of all.
func rank(name string) int {
	for i, q := range properties.All {
		if q.Name == name {
			return i
		}
	}
	return len(properties.All)
}
