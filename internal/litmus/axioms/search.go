package axioms

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/litmus/ctest"
)

// A Get returns the final value of a thread's local, or of a location if thread is below 0.
type Get func(thread, local, location int) int64

// Options of a search.
type Options struct {
	Most int              // candidate executions that are tried at most
	Stop *atomic.Bool     // set: give up; nil: never
	Far  func(uint64)     // reports millionths that are done; may be nil
	Text func(Get) string // names a final state
}

// A Result is what the axioms allow.
type Result struct {
	Outcomes   []Outcome // in the order of their texts
	Candidates int       // executions that were tried
	Complete   bool      // no execution was left out that could change the verdict, or race
	Listed     bool      // nor one with an outcome of its own
	Race       *Race     // nil if no accesses race
}

// An Outcome is a final state, with one execution that leads to it.
type Outcome struct {
	Text     string
	Holds    bool
	Accesses []Access
}

// An Access is a load or a store of an execution, in the order of the program.
type Access struct {
	Thread, Line, Location int
	Store                  bool
	Value                  int64
	From                   int     // of a load: the thread whose store it reads from; -1: the initial value
	After                  []int64 // of a store: the values that the location had before, the initial one first
}

// A Race is two accesses of a location, at least one plain and at least one a store, without an
// order that compilers have to keep.
type Race struct {
	Location int
	Of       [2]struct {
		Thread, Line int
		Store, Plain bool
	}
}

// mostWork bounds how many states are listed: the words of relations that were computed, in
// units of one relation, some seconds. Beyond, only what may change the verdict is looked at.
const mostWork = 30_000_000

// mostTraces bounds the traces of a thread.
const mostTraces = 200_000

// ErrWays is the error of a test with a thread that has too many traces.
var ErrWays = fmt.Errorf("more than %d ways to go; make it shorter", mostTraces)

// A searcher tries each candidate execution.
type searcher struct {
	o      Options
	test   *ctest.Test
	traces [][]*trace // of each thread
	writes [][]pair   // of each thread: what it may store
	plain  bool       // there are plain accesses
	ends   bool       // the condition or the filter is about locations
	chosen []*trace
	x      execution
	orders
	known map[string]bool
	seen  [2]bool // final states in which the condition doesn't hold, and in which it does
	work  int
	r     *Result
	err   error
	stop  bool
}

// A pair is a location and a value that it may have.
type pair struct {
	location int
	value    int64
}

// Search finds what the axioms of the kernel's memory model allow a test to end with. An error is
// an access, in an allowed execution, through something that is no address.
func Search(t *ctest.Test, o Options) (*Result, error) {
	s := &searcher{o: o, test: t, known: make(map[string]bool), r: &Result{Listed: true}}
	s.ends = aboutLocations(t.Prop) || aboutLocations(t.Filter)
	for _, p := range t.Threads {
		s.plain = s.plain || slices.ContainsFunc(p.Code, func(in ctest.Instr) bool { return in.Plain })
	}
	if s.trace() {
		s.chosen = make([]*trace, 0, len(t.Threads))
		s.last = make([]int64, len(t.Locations))
		s.choose()
		s.r.Complete = !s.stop && s.err == nil
	}
	s.r.Listed = s.r.Listed && s.r.Complete
	slices.SortFunc(s.r.Outcomes, func(a, b Outcome) int { return cmp.Compare(a.Text, b.Text) })
	return s.r, s.err
}

func aboutLocations(p *ctest.Prop) bool {
	if p == nil {
		return false
	}
	if p.Op == "=" || p.Op == "!=" {
		return p.Thread < 0 || p.With != nil && p.With.Thread < 0
	}
	return slices.ContainsFunc(p.Args, aboutLocations)
}

// trace finds what each thread may do: first which values each location may have, whichever way
// branches go, then what threads do with them. It returns false if that is too much.
func (s *searcher) trace() bool {
	values := make([][]int64, len(s.test.Locations))
	rounds := 1 // a value has come through each store at most
	for i, l := range s.test.Locations {
		values[i] = []int64{l.Value}
	}
	for _, p := range s.test.Threads {
		for i := range p.Code {
			if p.Code[i].Computes() {
				rounds++
			}
		}
	}
	for grew := true; grew && rounds > 0; rounds-- {
		if !s.run(values, true) {
			return false
		}
		grew = false
		for _, list := range s.writes {
			for _, w := range list {
				if !slices.Contains(values[w.location], w.value) {
					values[w.location], grew = append(values[w.location], w.value), true
				}
			}
		}
	}
	return s.run(values, false)
}

// run makes the traces of all threads.
func (s *searcher) run(values [][]int64, free bool) bool {
	s.traces, s.writes = nil, nil
	for i := range s.test.Threads {
		var traces []*trace
		var writes []pair
		r := &tracer{test: s.test, thread: i, values: func(l int) []int64 { return values[l] }, free: free}
		if !r.each(func(t *trace) bool {
			traces = append(traces, t)
			for k := range t.events {
				if e := &t.events[k]; e.kind == write && !slices.Contains(writes, pair{e.location, e.value}) {
					writes = append(writes, pair{e.location, e.value})
				}
			}
			if len(traces) == mostTraces {
				s.err = fmt.Errorf("%s: P%d alone has %w", s.test.File, i, ErrWays)
			}
			return s.err == nil && !s.halted()
		}) {
			return false
		}
		s.traces, s.writes = append(s.traces, traces), append(s.writes, writes)
	}
	return true
}

func (s *searcher) halted() bool { return s.o.Stop != nil && s.o.Stop.Load() }

// choose takes each trace of the next thread, and of those after it.
func (s *searcher) choose() {
	n := len(s.chosen)
	if n == len(s.traces) {
		s.combined()
		return
	}
	for i, t := range s.traces[n] {
		if n == 0 && s.o.Far != nil {
			s.o.Far(uint64(i) * 1_000_000 / uint64(len(s.traces[0])))
		}
		s.chosen = append(s.chosen, t)
		if s.possible() && !s.dull(false) {
			s.choose()
		}
		s.chosen = s.chosen[:n]
		if s.stop || s.err != nil {
			return
		}
	}
}

// possible reports whether each load of the chosen traces may have got its value.
func (s *searcher) possible() bool {
	for _, t := range s.chosen {
		for i := range t.events {
			e := &t.events[i]
			if e.kind == read && e.value != s.test.Locations[e.location].Value && !s.stored(pair{e.location, e.value}) {
				return false
			}
		}
	}
	return true
}

func (s *searcher) stored(w pair) bool {
	for _, t := range s.chosen {
		for i := range t.events {
			if e := &t.events[i]; e.kind == write && e.location == w.location && e.value == w.value {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.writes[len(s.chosen):], func(list []pair) bool { return slices.Contains(list, w) })
}

// dull reports whether executions of the chosen traces can tell nothing new. ordered: the order of
// stores is chosen, too.
func (s *searcher) dull(ordered bool) bool {
	get := func(thread, local, location int) (int64, bool) {
		switch {
		case thread < 0:
			return s.last[location], ordered
		case thread < len(s.chosen):
			return s.chosen[thread].locals[local], true
		}
		return 0, false
	}
	for _, t := range s.chosen {
		if t.err != nil {
			return false
		}
	}
	if f := s.test.Filter; f != nil && f.Eval(get) == ctest.No {
		return true
	}
	if s.plain && s.r.Race == nil {
		return false
	}
	holds := s.test.Prop.Eval(get)
	if holds == ctest.Unknown || !s.seen[holds-ctest.No] {
		return false
	}
	if s.work > mostWork {
		s.r.Listed = false
		return true
	}
	return (ordered || !s.ends && len(s.chosen) == len(s.traces)) && s.known[s.o.Text(s.get)]
}

func (s *searcher) get(thread, local, location int) int64 {
	if thread < 0 {
		return s.last[location]
	}
	return s.chosen[thread].locals[local]
}

// combined tries the executions of the chosen traces.
func (s *searcher) combined() {
	s.x.begin(s.chosen)
	if s.err = s.orders.begin(s.test, &s.x); s.err != nil {
		return
	}
	s.readFrom(0)
}

// readFrom takes each store that a load may read from, for the loads from one on.
func (s *searcher) readFrom(load int) {
	if load == len(s.loads) {
		if s.constrain(&s.x) && (!s.several || s.allowed()) {
			s.order(0)
		}
		return
	}
	i := s.loads[load]
	e := &s.x.events[i]
	take := func(w int) {
		if s.stop || s.err != nil || e.pair > 0 && s.paired(&s.x, load, w) {
			return
		}
		s.x.reads[i] = w
		s.readFrom(load + 1)
	}
	if s.test.Locations[e.location].Value == e.value {
		take(-1)
	}
	for _, w := range s.stores[e.location] {
		if o := &s.x.events[w]; o.value == e.value && (o.thread != e.thread || w < i) {
			take(w)
		}
	}
}

// allowed asks the axioms, and counts.
func (s *searcher) allowed() bool {
	if s.r.Candidates++; s.r.Candidates > s.o.Most || s.r.Candidates%64 == 0 && s.halted() {
		s.stop = true
		return false
	}
	s.work += s.x.n * s.x.n * s.x.w
	return s.x.allowed()
}

// order takes each order of stores to the locations from one on.
func (s *searcher) order(location int) {
	if location == len(s.stores) {
		s.candidate()
		return
	}
	s.extend(location, 0, -1)
}

// extend places one more store after those already placed at a location. placed has a bit for
// each placed store; last is the last of them.
func (s *searcher) extend(location int, placed uint64, last int) {
	if s.stop || s.err != nil {
		return
	}
	if s.full(location, placed) {
		s.last[location] = s.test.Locations[location].Value
		if last >= 0 {
			s.last[location] = s.x.events[last].value
		}
		s.order(location + 1)
		return
	}
	for k, w := range s.stores[location] {
		if s.next(location, placed, last, k) {
			s.x.ahead[w] = placed
			s.extend(location, placed|1<<k, w)
		}
	}
}

// candidate asks the axioms about an execution, and enters what it shows.
func (s *searcher) candidate() {
	if s.dull(true) || !s.allowed() {
		return
	}
	for _, t := range s.chosen {
		s.err = cmp.Or(s.err, t.err)
	}
	if s.err != nil {
		return
	}
	if s.r.Race == nil {
		s.r.Race = s.x.raced()
	}
	get := func(thread, local, location int) (int64, bool) { return s.get(thread, local, location), true }
	holds := s.test.Prop.Eval(get)
	s.seen[holds-ctest.No] = true
	if text := s.o.Text(s.get); !s.known[text] {
		s.known[text] = true
		s.r.Outcomes = append(s.r.Outcomes, Outcome{text, holds == ctest.Yes, s.accesses()})
	}
}

func (s *searcher) accesses() (list []Access) {
	for i := range s.x.events {
		e := &s.x.events[i]
		if !e.memory() {
			continue
		}
		a := Access{Thread: e.thread, Line: e.line, Location: e.location, Store: e.kind == write, Value: e.value,
			From: -1}
		if e.kind == read && s.x.reads[i] >= 0 {
			a.From = s.x.events[s.x.reads[i]].thread
		}
		if a.Store {
			a.After = s.before(s.test, &s.x, i)
		}
		list = append(list, a)
	}
	return list
}
