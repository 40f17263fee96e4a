package small

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/properties"
)

// A Search runs the programs of one world, those of one call first. Its fields don't change after
// Begin.
type Search struct {
	Scenario  *scenario.Scenario // the world, with its edition or a kernel's engine
	Settled   bool               // the optimizer runs after each call that may give it work
	Mutant    string             // "": the right engine
	Ignored   properties.Set     // what may be broken
	Base      *scenario.Scenario // nil, or the world with the engine without a change: what that does too is no find
	Workers   int
	Cancelled *atomic.Bool

	// Progress, if not nil, is called from time to time, by several goroutines, with the programs
	// run so far and how many of them differ.
	Progress func(ran, differ uint64)

	world  *World
	plain  *scenario.Scenario // without a kernel's engine
	failed map[string]bool    // programs that differ
	result Result

	done, differ atomic.Uint64
	_            struct{}
}

// A Result is what a search has shown so far.
type Result struct {
	World   string
	Settled bool
	Letters int // calls of which programs are made
	Levels  []Level
	Finds   []*Find // the shortest first
	Before  uint64  // programs that differ on Base alike
}

// A Level is about the programs of one length.
type Level struct {
	Calls    int
	Raw      uint64 // all programs, with symmetric ones and those that can't be made
	Run      uint64 // up to symmetry
	Beyond   uint64 // those that continue a program of which a call differs: they weren't run
	Differ   uint64
	Complete bool // all others were run
}

// Complete returns the greatest length to which the search is complete.
func (r *Result) Complete() (calls int) {
	for i := range r.Levels {
		if !r.Levels[i].Complete {
			break
		}
		calls = r.Levels[i].Calls
	}
	return calls
}

// A Find is a way in which programs differ from the rules, with the first of the shortest.
type Find struct {
	What     string // a broken property, or what differs
	After    string // the call after which, or in which, it shows
	Says     string
	Known    string // the known difference of a kernel that it is (twoengines.Known); "": none
	Calls    []string
	Programs uint64             // as many differ so; their continuations aren't counted
	Scenario *scenario.Scenario // the program alone, to where it differs, with what its calls answer by the rules
	Serial   *scenario.Scenario // the same without answers

	program []int // the calls, by operation
	differs difference
}

// maxIdle is how many calls of a program may change nothing by the rules.
const maxIdle = 1

// A tree walks the programs of one length.
type tree struct {
	w      *World
	length int
	failed map[string]bool // programs that differ
	stop   *atomic.Bool

	program []int // letters, by operation
	states  []state
	answers []answer // of each call so far
	beyond  uint64
}

func newTree(w *World, length int, failed map[string]bool, stop *atomic.Bool) *tree {
	t := &tree{w: w, length: length, failed: failed, stop: stop, states: make([]state, length+1),
		answers: make([]answer, length)}
	t.states[0] = w.begin()
	return t
}

// push adds a call. It returns false if no program has it here.
func (t *tree) push(l *letter) bool {
	d := len(t.program)
	s := &t.states[d]
	if !s.can(l) {
		return false
	}
	next := &t.states[d+1]
	*next = *s
	a := next.do(l, t.answers[d].hits[:0])
	t.answers[d] = a
	if next.idle > maxIdle {
		return false
	}
	t.program = append(t.program, l.op)
	return true
}

func (t *tree) pop() { t.program = t.program[:len(t.program)-1] }

// walk calls f for each program of the length that begins with the current one.
func (t *tree) walk(upTo int, f func()) {
	if t.stop != nil && t.stop.Load() {
		return
	}
	if len(t.program) == upTo {
		f()
		return
	}
	for _, l := range t.w.letters {
		if !t.push(l) {
			continue
		}
		t.walk(upTo, f)
		t.pop()
	}
}

// key is a program as a key of a map.
func key(program []int) string {
	b := make([]byte, len(program))
	for i, op := range program {
		b[i] = byte(op)
	}
	return string(b)
}

// continues reports whether the program continues one that differs.
func (t *tree) continues() bool {
	if len(t.failed) == 0 {
		return false
	}
	for n := 1; n < len(t.program); n++ {
		if t.failed[key(t.program[:n])] {
			return true
		}
	}
	return false
}

// Begin prepares the search. It returns false if the world has no optimizer, and another search
// of it runs the same programs. Errors are about the input.
func (s *Search) Begin() (bool, error) {
	w, err := New(s.Scenario, s.Settled)
	if err != nil || s.Settled && !w.settled {
		return false, err
	}
	s.world, s.failed = w, make(map[string]bool)
	s.result = Result{World: strings.TrimPrefix(s.Scenario.Name, "small-"), Settled: w.settled, Letters: len(w.letters)}
	return true, nil
}

// countedTo is the most calls of programs that are counted before they are run.
const countedTo = 3

// Count returns how many programs of up to n calls there are up to symmetry, by estimate beyond
// three calls.
func (s *Search) Count(n int) (programs uint64) {
	var some, last float64
	for k := 1; k <= n; k++ {
		ratio := some / max(last, 1)
		if last = some; k > countedTo {
			some *= ratio
		} else {
			some = 0
			newTree(s.world, k, nil, s.Cancelled).walk(k, func() { some++ })
		}
		programs += uint64(some)
	}
	return programs
}

// Result returns what the search has shown so far.
func (s *Search) Result() *Result { return &s.result }

// Next runs the programs that have one call more than the last time. It returns false if it was
// cancelled before all were run, or if all differ.
func (s *Search) Next() (bool, error) {
	n := len(s.result.Levels) + 1
	l, err := s.level(n)
	if err != nil {
		return false, err
	}
	l.Raw = 1
	for range n {
		l.Raw *= uint64(len(s.world.letters))
	}
	if s.result.Levels = append(s.result.Levels, *l); l.Run == 0 && n == 1 && !s.cancelled() {
		return false, fmt.Errorf("%s: no program was run", s.Scenario.Name)
	}
	return l.Complete, nil
}

func (s *Search) cancelled() bool { return s.Cancelled != nil && s.Cancelled.Load() }

// share is how many calls of a program select the job that runs it.
const share = 2

// level runs the programs of one length.
func (s *Search) level(n int) (*Level, error) {
	w, l := s.world, &Level{Calls: n}
	var jobs [][]int
	first := newTree(w, n, nil, s.Cancelled)
	first.walk(min(share, n), func() { jobs = append(jobs, slices.Clone(first.program)) })

	all, errs := make([]*runner, len(jobs)), make([]error, len(jobs))
	stop := s.Cancelled
	if stop == nil {
		stop = new(atomic.Bool)
	}
	parallel.Run(s.Workers, len(jobs), stop, func() (do func(job int), end func()) {
		e, base, err := s.engines()
		if err != nil {
			return func(job int) { errs[job] = err }, func() {}
		}
		return func(job int) {
				t := &runner{tree: newTree(w, n, s.failed, stop), engine: e, base: base}
				all[job] = t
				for _, op := range jobs[job] {
					t.push(&w.ops[op])
				}
				var ran, differ uint64
				tell := func() {
					a, b := s.done.Add(t.ran-ran), s.differ.Add(t.differ-differ)
					if ran, differ = t.ran, t.differ; s.Progress != nil {
						s.Progress(a, b)
					}
				}
				t.walk(n, func() {
					if t.take(); t.ran%told == 0 {
						tell()
					}
				})
				tell()
			}, func() {
				e.close()
				if base != nil {
					base.close()
				}
			}
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	for _, t := range all {
		if t == nil {
			continue
		}
		l.Run, l.Beyond, l.Differ = l.Run+t.ran, l.Beyond+t.beyond, l.Differ+t.differ
		s.result.Before += t.before
		for _, f := range t.finds {
			s.result.Finds = counted(s.result.Finds, f)
		}
		for _, p := range t.failures {
			s.failed[p] = true
		}
	}
	l.Complete = !s.cancelled()
	return l, nil
}

// told is how many programs a job runs between two reports of its progress.
const told = 256

// engines makes the engines of a worker; base is nil without Search.Base.
func (s *Search) engines() (e, base *engineRun, err error) {
	if e, err = newEngine(s.world, s.Mutant, s.Ignored); err != nil || s.Base == nil {
		return e, nil, err
	}
	w, err := New(s.Base, s.Settled)
	if err != nil {
		return nil, nil, err
	}
	base, err = newEngine(w, "", s.Ignored)
	return e, base, err
}

// counted adds a find to a list, or counts it to one that reads alike.
func counted(list []*Find, f *Find) []*Find {
	for _, g := range list {
		if g.What == f.What && g.After == f.After && g.Says == f.Says {
			g.Programs += f.Programs
			return list
		}
	}
	return append(list, f)
}
