package ctest_test

import (
	"cmp"
	"slices"

	"kpsim/internal/litmus/ctest"
	"kpsim/sim"
	"kpsim/smp/lkmm"
)

// A verdict is what a search has seen.
type verdict struct {
	seen, unseen bool // final states in which the condition holds, and doesn't
	stuck        bool // a state from which nothing goes on
	capped       bool // there are more states than were searched
	states       int
	err          error
}

// A place is a state of a test: the threads, the memory's values and its model.
type place struct {
	threads []*ctest.Thread
	grace   []bool // threads whose grace period has begun
	waits   []bool // threads whose load takes none of the versions that there were
	offers  []int  // the version, counted from the newest, that has come since; -1 for none
	cells   [][]int64
	model   lkmm.Model
}

func (p *place) copy(o *place) {
	for len(p.threads) < len(o.threads) {
		p.threads = append(p.threads, new(ctest.Thread))
	}
	for i, t := range o.threads {
		p.threads[i].Copy(t)
	}
	p.grace = append(p.grace[:0], o.grace...)
	p.waits = append(p.waits[:0], o.waits...)
	p.offers = append(p.offers[:0], o.offers...)
	for len(p.cells) < len(o.cells) {
		p.cells = append(p.cells, nil)
	}
	for i, c := range o.cells {
		p.cells[i] = append(p.cells[i][:0], c...)
	}
	p.model.Copy(&o.model)
}

// A searcher runs all that a test can do, but each state once. It is one thread's machine
// while that makes a step.
type searcher struct {
	test   *ctest.Test
	max    int // states
	goal   ctest.Truth
	late   bool // loads may be performed late
	out    verdict
	seen   map[sim.Hash]struct{}
	pool   []*place
	at     *place
	cpu    int
	prefix []int // answers of the step that is being made
	widths []int
	asked  int
	only   int // the version that its load takes; -1: ask
	seed   uint64
	turn   int // by which answers are turned round, for another order
}

// search runs the test. If goal isn't Unknown, it ends when the condition is that, and
// leaves out states from which it can't be.
// Other seeds take states in another order.
func search(t *ctest.Test, goal ctest.Truth, late bool, limit int, seed uint64) verdict {
	s := &searcher{test: t, max: limit, seed: seed, goal: goal, late: late, only: -1, seen: map[sim.Hash]struct{}{}}
	first := new(place)
	first.model.Reset(len(t.Threads))
	for i := range t.Threads {
		first.threads = append(first.threads, ctest.NewThread(t, i))
		first.grace = append(first.grace, false)
		first.waits = append(first.waits, false)
		first.offers = append(first.offers, -1)
	}
	for _, l := range t.Locations {
		first.cells = append(first.cells, []int64{l.Value})
	}
	s.visit(first)
	return s.out
}

func (s *searcher) done() bool {
	return s.out.err != nil || s.out.capped || s.goal == ctest.Yes && s.out.seen || s.goal == ctest.No && s.out.unseen
}

func (s *searcher) visit(p *place) {
	if s.done() {
		return
	}
	can, ended := s.settle(p)
	holds := s.judge(p, ended)
	if ended {
		switch holds {
		case ctest.Yes:
			s.out.seen = true
		case ctest.No:
			s.out.unseen = true
		}
		return
	}
	if s.goal != ctest.Unknown && holds != ctest.Unknown && holds != s.goal {
		return
	}
	if len(can) == 0 && slices.Max(p.offers) < 0 {
		if !slices.Contains(p.waits, true) { // else there comes no version to wait for
			s.out.stuck = true
		}
		return
	}
	if s.hopeless(p) {
		return
	}
	h := s.hash(p)
	if _, old := s.seen[h]; old {
		return
	}
	if s.out.states >= s.max {
		s.out.capped = true
		return
	}
	s.seen[h] = struct{}{}
	s.out.states++
	for i, offer := range p.offers {
		if offer >= 0 {
			s.offered(p, i, offer)
			return
		}
	}
	for _, cpu := range can {
		op, at := p.threads[cpu].Next()
		if op == ctest.Load {
			s.steps(p, cpu)
			if s.others(p, cpu, func(t *ctest.Thread) bool { return t.MayStore(at) }) {
				s.waiting(p, cpu)
			}
			return
		}
		if s.early(p, cpu, op, at) {
			s.steps(p, cpu)
			return
		}
	}
	s.arrange(can)
	for _, cpu := range can {
		s.steps(p, cpu)
	}
}

// hopeless reports whether a load that is to come can't give what the condition asks for.
func (s *searcher) hopeless(p *place) (never bool) {
	if s.goal != ctest.Yes || s.test.Prop == nil {
		return false
	}
	want := []*ctest.Prop{s.test.Prop}
	if s.test.Prop.Op == `/\` {
		want = s.test.Prop.Args
	}
	for i, t := range p.threads {
		t.Coming(func(local, at int) {
			if never {
				return
			}
			for _, w := range want {
				if w.Op != "=" || w.With != nil || w.Thread != i || w.Local != local {
					continue
				}
				c := p.cells[at]
				if !slices.Contains(c[len(c)-p.model.Readable(i, uint32(at)):], w.Value) &&
					!slices.ContainsFunc(p.threads, func(t *ctest.Thread) bool { return t.MayStore(at) }) {
					never = true
				}
			}
		})
	}
	return never
}

// arrange puts the threads in the seed's order: one for the whole search, or another one
// in each state.
func (s *searcher) arrange(can []int) {
	if s.seed == 0 {
		return
	}
	now := uint64(s.out.states)
	if s.seed%8 != 0 {
		now = 0
	}
	key := func(cpu int) uint64 { return sim.Mix(s.seed<<32 ^ now<<8 ^ uint64(cpu)) }
	slices.SortFunc(can, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
}

// A load takes a version that is there when its thread comes to it, or one that comes
// later at the moment it comes: what other threads do meanwhile changes nothing for it,
// and it nothing for them. So no other order is tried.
func (s *searcher) waiting(p *place, cpu int) {
	next := s.borrow()
	next.copy(p)
	next.waits[cpu] = true
	s.visit(next)
	s.pool = append(s.pool, next)
}

func (s *searcher) offered(p *place, cpu, offer int) {
	next := s.borrow()
	_, at := p.threads[cpu].Next()
	if offer < p.model.Readable(cpu, uint32(at)) {
		next.copy(p)
		next.offers[cpu], next.waits[cpu] = -1, false
		s.only, s.prefix, s.widths, s.asked = offer, nil, nil, 0
		s.step(next, cpu)
		s.only = -1
		s.visit(next)
	}
	next.copy(p)
	next.offers[cpu] = -1
	s.visit(next)
	s.pool = append(s.pool, next)
}

func (s *searcher) others(p *place, cpu int, may func(*ctest.Thread) bool) bool {
	for j, t := range p.threads {
		if j != cpu && may(t) {
			return true
		}
	}
	return false
}

// early reports whether a step loses nothing by being made before all others: a store,
// which nothing has to see, where no operation reads the newest version; the end of a
// section; a beginning for which no grace period comes.
func (s *searcher) early(p *place, cpu int, op ctest.Op, at int) bool {
	switch op {
	case ctest.Store:
		return !s.others(p, cpu, func(t *ctest.Thread) bool { return t.MayChange(at) })
	case ctest.ReadUnlock:
		return true
	case ctest.ReadLock:
		return !s.others(p, cpu, func(t *ctest.Thread) bool { return t.MayWait(at) })
	}
	return false
}

// steps makes a thread's next step in each way.
func (s *searcher) steps(p *place, cpu int) {
	next := s.borrow()
	defer func() { s.pool = append(s.pool, next) }()
	var path, widths []int
	turn := 0
	if s.seed != 0 {
		turn = int(sim.Mix(s.seed^uint64(s.out.states)<<20) % 64)
	}
	for {
		next.copy(p)
		s.turn = turn
		s.prefix, s.widths, s.asked = path, widths, 0
		s.step(next, cpu)
		path, widths = s.prefix, s.widths
		s.visit(next)
		for len(path) > 0 && path[len(path)-1] == widths[len(path)-1]-1 {
			path, widths = path[:len(path)-1], widths[:len(widths)-1]
		}
		if len(path) == 0 || s.done() {
			return
		}
		path[len(path)-1]++
	}
}

func (s *searcher) borrow() *place {
	if n := len(s.pool); n > 0 {
		p := s.pool[n-1]
		s.pool = s.pool[:n-1]
		return p
	}
	return new(place)
}

func (s *searcher) choose(n int) int {
	if s.only >= 0 {
		if s.only < n {
			return s.only
		}
		return 0
	}
	if s.asked == len(s.prefix) {
		s.prefix, s.widths = append(s.prefix, 0), append(s.widths, n)
	}
	s.asked++
	return (s.prefix[s.asked-1] + s.turn) % n
}

func (s *searcher) step(p *place, cpu int) {
	s.at, s.cpu = p, cpu
	t := p.threads[cpu]
	op, at := t.Next()
	if op == ctest.Synchronize && !p.grace[cpu] {
		p.grace[cpu] = true
		p.model.GPBegin(cpu, at)
		return
	}
	t.Step(s)
	p.model.Keep(cpu, t.Needed())
}

// settle does what concerns a thread alone, and lists those that can go on.
func (s *searcher) settle(p *place) (can []int, ended bool) {
	ended = true
	for i, t := range p.threads {
		for {
			op, at := t.Next()
			if op == ctest.Fence && at != int(lkmm.MB) {
				s.step(p, i)
				continue
			}
			if t.Err() != nil {
				s.out.err = t.Err()
			}
			if op == ctest.Done {
				break
			}
			ended = false
			if op == ctest.Lock && s.newest(p, at) != 0 || op == ctest.Synchronize && p.grace[i] &&
				p.model.Waiting(i, at) != 0 {
				break
			}
			if op == ctest.Synchronize && p.grace[i] && s.inside(p, i, at) {
				break
			}
			if !p.waits[i] {
				can = append(can, i)
			}
			break
		}
	}
	return can, ended
}

// inside: a thread that waits for its own section waits for ever.
func (s *searcher) inside(p *place, cpu, domain int) bool { return p.model.Inside(cpu, domain) }

func (s *searcher) newest(p *place, at int) int64 { return p.cells[at][len(p.cells[at])-1] }

func (s *searcher) judge(p *place, ended bool) ctest.Truth {
	get := func(thread, local, location int) (int64, bool) {
		if thread >= 0 {
			return p.threads[thread].Final(local)
		}
		if ended {
			return s.newest(p, location), true
		}
		for _, t := range p.threads {
			if t.MayStore(location) {
				return 0, false
			}
		}
		return s.newest(p, location), true
	}
	if s.test.Prop == nil {
		return ctest.Unknown
	}
	if f := s.test.Filter; f != nil && f.Eval(get) == ctest.No {
		return ctest.Unknown
	}
	return s.test.Prop.Eval(get)
}

func (s *searcher) hash(p *place) (h sim.Hash) {
	for i, t := range p.threads {
		t.AddState(&h)
		if p.grace[i] {
			h.Add(1)
		}
		if p.waits[i] {
			h.Add(2)
		}
		h.Add(uint64(p.offers[i] + 1))
	}
	for _, c := range p.cells {
		h.Add(uint64(len(c)))
		for _, v := range c {
			h.Add(uint64(v))
		}
	}
	p.model.AddState(&h)
	return h
}

// put stores a value with back newer ones, and forgets what no CPU can read.
func (s *searcher) put(at int, v int64, back int) {
	c := append(s.at.cells[at], 0)
	pos := len(c) - 1 - back
	copy(c[pos+1:], c[pos:])
	c[pos] = v
	s.at.cells[at] = c
	for i, waits := range s.at.waits {
		if !waits {
			continue
		}
		if _, l := s.at.threads[i].Next(); l == at {
			s.at.offers[i] = back
		}
	}
	s.forget(at)
}

func (s *searcher) forget(at int) {
	c := s.at.cells[at]
	n := s.at.model.Forget(uint32(at))
	s.at.cells[at] = c[:copy(c, c[n:])]
}

// Load implements ctest.Machine, as the rest does.
func (s *searcher) Load(at int, o lkmm.Order, after lkmm.Deps) (int64, lkmm.Deps) {
	back, d := s.at.model.LoadAfter(s.cpu, uint32(at), o, after, s.choose)
	c := s.at.cells[at]
	v := c[len(c)-1-back]
	s.forget(at)
	return v, d
}

func (s *searcher) Store(at int, v int64, o lkmm.Order, after lkmm.Deps) {
	s.put(at, v, s.at.model.StoreAfter(s.cpu, uint32(at), o, after, s.choose))
}

func (s *searcher) RMW(at int, o lkmm.Order, after lkmm.Deps, change func(int64) (int64, bool)) (int64, lkmm.Deps) {
	old := s.newest(s.at, at)
	v, ok := change(old)
	if !ok {
		d := s.at.model.FailedAfter(s.cpu, uint32(at), after)
		s.forget(at)
		return old, d
	}
	d := s.at.model.RMWAfter(s.cpu, uint32(at), o, after)
	s.put(at, v, 0)
	return old, d
}

func (s *searcher) Fence(f lkmm.Fence) { s.at.model.Fence(s.cpu, f) }

func (s *searcher) Lock(at int) {
	s.at.model.Lock(s.cpu, uint32(at))
	s.put(at, 1, 0)
}

func (s *searcher) Unlock(at int) {
	s.at.model.Unlock(s.cpu, uint32(at))
	s.put(at, 0, 0)
}

func (s *searcher) ReadLock(domain int)   { s.at.model.ReadLock(s.cpu, domain) }
func (s *searcher) ReadUnlock(domain int) { s.at.model.ReadUnlock(s.cpu, domain) }

func (s *searcher) Synchronize(domain int) {
	s.at.grace[s.cpu] = false
	s.at.model.GPEnd(s.cpu, domain)
}

func (s *searcher) Late() bool { return s.late && s.only < 0 && s.choose(2) == 1 }
