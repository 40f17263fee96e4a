package small

import (
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/proof"
)

// Deviations is how many deviations the schedules of two programs have at most.
const Deviations = 2

// A Beside runs programs side by side in two tasks: each two calls, after each program of some calls
// that change something. Every schedule of at most Deviations deviations is run, and judged by the
// properties, by the order of the calls of one probe (package rig's Linear), and by the reference, where it
// gives the same whichever of the two calls comes first.
type Beside struct {
	Scenario  *scenario.Scenario
	Mutant    string
	Calls     int // of each program; all but the last are those of the other one
	Workers   int
	Cancelled *atomic.Bool

	// Progress, if not nil, is called from time to time, by several goroutines, with the pairs done.
	Progress func(done, broken uint64)
	_        struct{}
}

// A Pair is two programs side by side.
type Pair struct {
	First  []string // the calls before
	X, Y   string
	Broken []Break // nil: no schedule breaks a property

	scenario *scenario.Scenario
	runs     uint64
}

// A Break is a property that a pair breaks.
type Break struct {
	Property string
	Says     string
	Runs     uint64
	plain    string // without names and places
}

// Scenario returns a pair as a scenario.
func (p *Pair) Scenario() *scenario.Scenario { return p.scenario }

// A BesideResult is what a search of pairs has shown.
type BesideResult struct {
	Pairs, Done uint64
	Schedules   uint64
	Broken      uint64
	Finds       []*BesideFind // the first found first: those with the fewest calls
}

// A BesideFind is a way in which pairs break a property.
type BesideFind struct {
	Break
	Pair  *Pair // the first
	Pairs uint64
}

// Pairs returns the pairs of the world, those with fewer calls first.
func (b *Beside) Pairs() ([]*Pair, error) {
	w, err := New(b.Scenario, true)
	if err != nil {
		return nil, err
	}
	var list []*Pair
	for n := 1; n <= b.Calls; n++ {
		t := newTree(w, n+1, nil, b.Cancelled)
		t.walk(n-1, func() {
			for _, a := range t.answers[:n-1] {
				if !a.changes {
					return
				}
			}
			for i, x := range w.letters {
				for _, y := range w.letters[i:] {
					if p := t.pair(x, y); p != nil {
						list = append(list, p)
					}
				}
			}
		})
	}
	return list, nil
}

// pair returns the pair of two calls after a tree's program, nil if it is none.
func (t *tree) pair(x, y *letter) *Pair {
	s := &t.states[len(t.program)]
	a, ok := s.both(x, y)
	c, also := s.both(y, x)
	switch {
	case !ok || !also || x.fn >= 0 && y.fn >= 0:
		return nil
	case !a[0].changes && !a[1].changes && !c[0].changes && !c[1].changes:
		return nil
	case x.kind.Takes(scenario.TheFprobes) && y.kind.Takes(scenario.TheFprobes) && x.key == y.key:
		return nil // its owner makes these calls one after the other
	case x.kind == act.Alternatives || y.kind == act.Alternatives:
		return nil // only a CPU that is alone applies them
	}
	w := t.w
	p := &Pair{X: x.says(w), Y: y.says(w)}
	one, two := []scenario.Op(nil), []scenario.Op{{Kind: act.WaitSignal}}
	ops := w.Scenario.Tasks[0].Ops
	for _, op := range t.program {
		p.First = append(p.First, w.ops[op].says(w))
		one = append(one, ops[op])
	}
	if w.wait >= 0 && s.stirred {
		one = append(one, ops[w.wait])
	}
	one = append(one, scenario.Op{Kind: act.Signal}, expected(w, x, y, &a[0], &c[1]))
	two = append(two, expected(w, y, x, &a[1], &c[0]))
	waits := x.kind.Traits&y.kind.Traits&scenario.Live != 0 // or is refused: which isn't known
	bare := t.bare()
	if a[0].errno == 0 && c[1].errno == 0 && !waits { // one that is refused may not wait for the other
		one = append(one, s.later(&bare, x, y)...)
	}
	if a[1].errno == 0 && c[0].errno == 0 && !waits {
		two = append(two, s.later(&bare, y, x)...)
	}
	p.scenario = w.beside(one, two)
	return p
}

// both does two calls, and returns what they give. ok is false if a program can't have them.
func (s *state) both(x, y *letter) (gives [2]answer, ok bool) {
	next := *s
	for i, l := range []*letter{x, y} {
		if !next.can(l) {
			return gives, false
		}
		gives[i] = next.do(l, nil)
	}
	return gives, true
}

// expected returns a call with its answer, if that is the same first and second, before and after
// another one. Calls of one probe are left to rig.Linear; those that wait for one another, or that
// work in several steps, may answer otherwise in between.
func expected(w *World, l, other *letter, first, second *answer) scenario.Op {
	op := w.Scenario.Tasks[0].Ops[l.op]
	same := slices.ContainsFunc(l.probes, func(i int) bool { return slices.Contains(other.probes, i) })
	steps := len(l.probes) > 1 || len(w.modules) > 0 || len(w.places) > 0 ||
		len(w.sites) > 0 && !l.kind.Takes(scenario.TheFprobes)
	if first.answers && second.answers && first.errno == second.errno && !same && !steps &&
		op.Kind.Has(scenario.ParamErrno) {
		op.Checked, op.Returns = true, first.errno
	}
	return op
}

// bare returns the state after a tree's program without its probes: what a scenario says of a result must hold there,
// too.
func (t *tree) bare() state {
	s := t.w.begin()
	for _, op := range t.program {
		if l := &t.w.ops[op]; len(l.probes) == 0 {
			s.do(l, nil)
		}
	}
	return s
}

// later returns the calls of functions after x whose results don't depend on how far y is, nor on probes.
func (s *state) later(bare *state, x, y *letter) (list []scenario.Op) {
	var after [6]state
	for i := range after {
		order := [...][]*letter{{x}, {x, y}, {y, x}}[i%3]
		after[i] = *s
		if i >= 3 {
			after[i] = *bare
			order = slices.DeleteFunc(order, func(l *letter) bool { return len(l.probes) > 0 })
		}
		for _, l := range order {
			after[i].do(l, nil)
		}
	}
	for i := range s.w.funcs {
		f := &s.w.funcs[i]
		if f.call < 0 || f.module >= 0 {
			continue
		}
		var gives [len(after)]answer
		same := true
		for k := range after {
			gives[k] = after[k].do(&s.w.ops[f.call], nil)
			same = same && gives[k].gives && gives[k].result == gives[0].result
		}
		if op := s.w.Scenario.Tasks[0].Ops[f.call]; same {
			op.Checked, op.Returns, op.Bits, op.Changed = true, uint64(gives[0].result), 32, true
			list = append(list, op)
		}
	}
	return list
}

// beside returns a scenario of two tasks.
func (w *World) beside(one, two []scenario.Op) *scenario.Scenario {
	s := *w.Scenario
	s.Tasks = []scenario.Task{s.Tasks[0], s.Tasks[0]}
	s.Tasks[0].Ops = one
	s.Tasks[1].Ops, s.Tasks[1].Name, s.Tasks[1].CPU = two, "two", 1
	all := slices.Concat(one, two)
	s.Probes = slices.DeleteFunc(slices.Clone(s.Probes), func(p scenario.Probe) bool {
		return !slices.ContainsFunc(all, func(op scenario.Op) bool {
			return op.Target == p.Name || slices.Contains(op.Targets, p.Name)
		})
	})
	return &s
}

// Run runs the pairs.
func (b *Beside) Run(pairs []*Pair) (*BesideResult, error) {
	stop := b.Cancelled
	if stop == nil {
		stop = new(atomic.Bool)
	}
	var done, broken atomic.Uint64
	errs := make([]error, len(pairs))
	parallel.Run(b.Workers, len(pairs), stop, func() (do func(int), end func()) {
		return func(i int) {
			if errs[i] = b.run(pairs[i], stop); len(pairs[i].Broken) > 0 {
				broken.Add(1)
			}
			if n := done.Add(1); b.Progress != nil {
				b.Progress(n, broken.Load())
			}
		}, func() {}
	})
	r := &BesideResult{Pairs: uint64(len(pairs)), Done: done.Load()}
	for i, p := range pairs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if r.Schedules += p.runs; len(p.Broken) > 0 {
			r.Broken++
		}
		for _, f := range p.Broken {
			r.count(p, f)
		}
	}
	return r, nil
}

// count adds a break to the finds, or counts it to one that reads alike.
func (r *BesideResult) count(p *Pair, f Break) {
	for _, g := range r.Finds {
		if g.Property == f.Property && g.plain == f.plain {
			g.Pairs++
			return
		}
	}
	r.Finds = append(r.Finds, &BesideFind{Break: f, Pair: p, Pairs: 1})
}

// run runs the schedules of a pair.
func (b *Beside) run(p *Pair, stop *atomic.Bool) error {
	if err := scenario.Check(p.scenario); err != nil {
		return fmt.Errorf("%v, %s beside %s: %w", p.First, p.X, p.Y, err)
	}
	spec := explore.Spec{Scenario: p.scenario, Mutant: b.Mutant, Workers: 1, Blind: true, Cancelled: stop}
	v, err := proof.Verify(proof.Proof{Deviations: Deviations, All: true, Spec: spec,
		Classes: p.scenario.Machine.Arch.Bits32()}) // its functions read stack that they haven't written
	if err != nil {
		return fmt.Errorf("%v, %s beside %s: %w", p.First, p.X, p.Y, err)
	}
	if p.runs = v.Runs; len(v.Found) == 0 {
		return nil
	}
	r, err := spec.NewRig()
	if err != nil {
		return err
	}
	defer r.Close()
	for i := range v.Found {
		f := &v.Found[i]
		if n := v.Broken[f.Property]; n > v.After[f.Property] {
			p.Broken = append(p.Broken, Break{f.Property, r.Readable(f.Message), n, r.Plain(f.Message)})
		}
	}
	return nil
}
