package fuzz

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/pairs"
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
	During     uint64 // runs that wrote a jump into a function while a task was in it
	Optimizes  bool   // its machine writes jumps
	// violations by property and wording; in the order of the properties, then of their first
	// runs
	Broken    []Broke
	Edition   rules.Edition
	Kept      bool   // other programs are made from it
	Refused   bool   // the kernel lacks something that it uses: it wasn't run
	Otherwise string // how a kernel's answers differ from the rules, if they were compared (answers.go)
	Like      string // the known difference that matches; "" if none

	features []uint64
	blocks   []uint32 // blocks of a kernel first reached by this program
	whole    bool     // it was run to its end
	how      arm      // how it was made
	from     *kept    // its parent
	number   uint64   // among all that islands run
}

// Scenario draws the scenario of a recipe as a session does.
func (s *Spec) Scenario(r *gen.Recipe) (sc *scenario.Scenario, parts []string, err error) {
	sc, parts = gen.Of(r, s.On)
	if s.Kernel != nil {
		return sc, parts, onlinux.Set(sc, s.Kernel)
	}
	return sc, parts, nil
}

// Describe fills in the fields of a program that Session.Read and Fold omit: Parts, Edition and
// Optimizes.
func (s *Spec) Describe(p *Program) error {
	sc, parts, err := s.Scenario(&p.Recipe)
	if err == nil {
		p.Parts, p.Edition, p.Optimizes = parts, sc.Machine.Edition, sc.Machine.Optimizes()
	}
	return err
}

// otherStrategies are used for one program in other. They see other orders, but in half of their
// runs a task finishes before another begins.
var otherStrategies = [...]string{"sticky", "arriving", "pct", "pos", "deviations"}

const other = 12

// delayMost is the maximum delay of work in most programs, in questions. A longer delay makes
// callers do many rounds while the task that calls the API waits for it.
const delayMost = 200

// schedules returns how a program's schedules are made: the strategy and Params.Delay.
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

// Explore returns the exploration that makes the given number of runs of a recipe's program, with
// the same schedules.
func (s *Spec) Explore(r *gen.Recipe, runs uint64) (explore.Spec, error) {
	sc, _, err := s.Scenario(r)
	if err != nil {
		return explore.Spec{}, err
	}
	strategy, delay := s.schedules(r)
	return explore.Spec{Scenario: sc, Mutant: s.Mutant, Strategy: strategy, Runs: runs, Seed: r.Hash(), Delay: delay,
		Workers: s.Workers}, nil
}

// A runner runs programs, one after another.
type runner struct {
	spec  *Spec
	known func(feature uint64) bool // whether a program of an earlier batch, or of the island, has shown it
	shown shown
	calls calls
	pairs pairs.Watch
	conflicts
	reach reach
}

// run runs a program: a few schedules, and more while the latest show features that no earlier
// program or schedule has. Errors are faults of kpsim.
func (w *runner) run(p *Program) error {
	sc, parts, err := w.spec.Scenario(&p.Recipe)
	if err != nil {
		p.Refused, p.whole = true, true // drawn programs are valid, so the kernel lacks something
		return nil
	}
	p.Parts, p.Edition, p.Optimizes = parts, sc.Machine.Edition, sc.Machine.Optimizes()
	// lang.Check would print the program, too: drawn ones are far below the bound of its length (gen's TestRecipe)
	if err := scenario.Check(sc); err != nil {
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
	if sched.ObserverOf(schedules) != nil { // repeated runs must report the same to an observing strategy
		r.Learnt()
	}
	var first uint64 // digest of the first run
	w.shown.begin(sc)
	w.conflicts.begin(r, &w.shown, p.Recipe.Hash()%observedIn == 0)
	r.Log.Subscribe(&w.shown, shownKinds...)
	w.pairs.Begin(r, w.shown.add)
	w.calls = calls{}
	r.Log.Subscribe(&w.calls, kpev.ApiEnter, kpev.ApiReturn)
	most, old := w.spec.Each, 0
	for i := uint64(0); i < most; i++ {
		if w.spec.stopped() {
			return ErrStopped
		}
		w.shown.run()
		w.pairs.Run()
		w.calls = calls{}
		run, more := r.NextWatched(schedules, i, &w.conflicts)
		if !more {
			break
		}
		// the twin without probes executes the same functions: the mutant has led the CPU to bytes that aren't
		// instructions of the program, or left it a wrong stack. Other schedules may show a property that breaks
		if run.Outcome == smp.Refused && w.spec.Mutant != "" {
			continue
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

// repeatedIn: for one in this many programs the first schedule is repeated after the others. It
// must give the same run, whatever state they left.
const repeatedIn = 4

// longer is the factor by which a program's schedules may grow while it keeps showing new
// features.
const longer = 6

// ErrStopped reports that a session was stopped while a program ran.
var ErrStopped = errors.New("stopped")

// news reports whether, since the last call, features were shown that no earlier program has
// shown.
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

// took records the result of run number i.
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

// kindsMost is the number of ways of breaking a property that are distinguished in a program;
// further ones count as the last.
const kindsMost = 4

// calls tracks the API call that each task of a run is in. It implements traces.Sink.
type calls [256]uint8 // by task: the call plus 1; 0: none

// Event implements traces.Sink.
func (c *calls) Event(e *traces.Event) *traces.Finding {
	c[e.Task] = 0
	if e.Kind == kpev.ApiEnter {
		c[e.Task] = uint8(e.A) + 1
	}
	return nil
}

// of returns the call that the task of a finding was in; "" if none.
func (c *calls) of(finding string) string {
	var cpu, task int
	if n, _ := fmt.Sscanf(finding, "cpu%d task%d ", &cpu, &task); n < 2 || task < 0 || task >= len(c) || c[task] == 0 {
		return ""
	}
	return fmt.Sprintf(" in call %d", c[task])
}

// kind returns a hash of a finding's wording without numbers, places and names.
func kind(words string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(words))
	return h.Sum64()
}

// rank returns a property's position in the catalogue, or the catalogue's length for an unknown
// name.
func rank(name string) int {
	for i, q := range properties.All {
		if q.Name == name {
			return i
		}
	}
	return len(properties.All)
}
