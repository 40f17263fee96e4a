package sched

import "kpsim/sim"

// guided mutates schedules, as coverage-guided fuzzers mutate inputs. A run that shows a feature
// that no earlier run has shown is kept, as the list of its deviations. Three of four runs play
// such a list, changed in one to three places: a deviation is dropped, moved, added or answered
// otherwise, or the end of another list is joined on. The other runs are fresh, decided by Sticky
// or Arriving. So a bug that takes a chain of rare steps is found one step after another, if each
// step shows.
//
// Features are those given to Learn, and conflicts: for each object that two movers touched, one
// of them writing, which mover came right after which, and how often, in powers of two. A store
// that took effect late, and a load that went past a held store, count as conflicts apart.
// Conflicts need the steps. All runs observe them if Learn gives nothing; otherwise one run in
// watchEvery does, because observing makes a run twice as expensive.
type guided struct {
	seed   uint64
	rand   sim.Rand
	walks  [2]Strategy // decide the runs that play no list
	fresh  Strategy    // the one of them that decides this run
	plays  bool        // this run plays the list
	list   sparse
	player player
	kept   []sparse
	oldest int // of kept, when it is full: the next to replace
	seen   novelty
	showed bool // this run has shown something new

	done    sparse // the deviations so far
	pairs   pairs
	last    sim.Mover // the last that made a step
	holding uint64    // the CPUs that hold stores
	watches bool      // this run's steps are observed
	learned bool      // Learn got features of the last run

	next, every uint64 // run number, and the distance to the next one
}

// sparse is a list of deviations. Step questions are numbered apart from others, so
// that the questions between two of them can be held.
type sparse struct {
	steps, others   []spot
	stepsN, othersN int // questions of either sort in the run that showed it
}

// A player answers the questions of a run with a sparse list.
type player struct {
	list    *sparse
	at      [2]int // the next of the list's steps and others to play
	noSteps uint64 // questions so far that were no Step questions
}

func (l *player) begin(list *sparse) { *l = player{list: list} }

// number returns a question's number among those of its sort.
func (l *player) number(p *sim.Point) uint64 {
	if p.Kind == sim.Step {
		return p.Seq - l.noSteps
	}
	return l.noSteps
}

// count counts a question that was answered.
func (l *player) count(p *sim.Point) {
	if p.Kind != sim.Step {
		l.noSteps++
	}
}

// answer answers a question as the list says.
func (l *player) answer(p *sim.Point) (pick, hold int) {
	list, k, at := l.list.others, &l.at[1], l.number(p)
	if p.Kind == sim.Step {
		list, k = l.list.steps, &l.at[0]
	}
	for *k < len(list) && list[*k].at < at {
		*k++
	}
	if *k == len(list) {
		return 0, holdStep(p, forever)
	}
	if list[*k].at > at {
		return 0, holdStep(p, int(min(list[*k].at-at, forever))-1)
	}
	if p.N == 1 {
		return 0, 0
	}
	return 1 + (list[*k].pick-1)%(p.N-1), 0
}

type spot struct {
	at   uint64 // the number of the question among those of its sort
	pick int    // at least 1; see pickMost
}

const (
	watchEvery = 16  // if Learn gets features, the steps of one run in this many are observed
	keptMost   = 256 // lists
	spotsMost  = 64  // deviations of either sort in a list; later ones are forgotten
)

// newGuided returns a Guided. Its runs must be taken in order.
func newGuided(p Params) *guided {
	p = p.normal()
	s := &guided{seed: p.Seed, next: p.Shard, every: p.Shards}
	p.Seed = sim.Mix(p.Seed) // otherwise a portfolio would repeat runs of Sticky
	s.walks = [2]Strategy{NewSticky(p), NewArriving(p)}
	s.kept = make([]sparse, 0, keptMost)
	s.list, s.done = newSparse(), newSparse()
	s.pairs.used = make([]uint16, 0, len(s.pairs.last))
	return s
}

func newSparse() sparse {
	return sparse{steps: make([]spot, 0, spotsMost), others: make([]spot, 0, spotsMost)}
}

// Begin implements Strategy: there is always another run.
func (s *guided) Begin(i uint64) bool {
	if i != s.next {
		sim.Bug("guided: run %d was begun when run %d was next", i, s.next)
	}
	s.next += s.every
	s.rand.Seed(s.seed, i)
	s.showed = false
	s.player.begin(&s.list)
	s.done.clear()
	s.pairs.clear()
	s.last, s.holding = sim.NoMover, 0
	s.watches = !s.learned || i/s.every%watchEvery == 0
	if s.plays = len(s.kept) > 0 && s.rand.N(4) > 0; !s.plays {
		s.fresh = s.walks[s.rand.N(2)]
		return s.fresh.Begin(i)
	}
	s.list.copy(s.any())
	for range 1 + s.rand.N(3) {
		s.mutate()
	}
	return true
}

func (l *sparse) clear() { l.steps, l.others = l.steps[:0], l.others[:0] }

func (l *sparse) copy(from *sparse) {
	l.steps = append(l.steps[:0], from.steps...)
	l.others = append(l.others[:0], from.others...)
	l.stepsN, l.othersN = from.stepsN, from.othersN
}

// any returns a kept list: in half of the cases one of the latest.
func (s *guided) any() *sparse {
	n := len(s.kept)
	if s.rand.N(2) == 0 {
		back := 1 + s.rand.N(min(n, 8))
		return &s.kept[(s.oldest+n-back)%n]
	}
	return &s.kept[s.rand.N(n)]
}

// mutate changes the list in one place.
func (s *guided) mutate() {
	spots, length := &s.list.steps, max(s.list.stepsN, 1)
	if len(s.list.others) > 0 && s.rand.N(4) == 0 {
		spots, length = &s.list.others, s.list.othersN
	}
	l, r := *spots, &s.rand
	kind := r.N(5)
	switch {
	case len(l) == 0:
		kind = 0
	case kind == 0 && len(l) == cap(l): // no room
		kind = 1
	}
	switch kind {
	case 0: // add
		l = insert(l, spot{uint64(r.N(length)), 1 + r.N(pickMost)})
	case 1: // drop
		k := r.N(len(l))
		l = append(l[:k], l[k+1:]...)
	case 2: // move, a little or far
		k := r.N(len(l))
		c := l[k]
		l = append(l[:k], l[k+1:]...)
		if by := uint64(1 + r.N(4)); r.N(4) == 0 {
			c.at = uint64(r.N(length))
		} else if r.N(2) == 0 {
			c.at += by
		} else {
			c.at -= min(by, c.at)
		}
		l = insert(l, c)
	case 3: // answer otherwise
		l[r.N(len(l))].pick = 1 + r.N(pickMost)
	case 4: // join the end of another list on
		at := uint64(r.N(length))
		k := 0
		for k < len(l) && l[k].at < at {
			k++
		}
		l = l[:k]
		from := s.any()
		end := from.steps
		if spots == &s.list.others {
			end = from.others
		}
		for _, c := range end {
			if c.at >= at && len(l) < cap(l) {
				l = append(l, c)
			}
		}
	}
	*spots = l
}

// pickMost bounds the drawn answers. A question takes them modulo the number of its alternatives
// that deviate.
const pickMost = 60

// insert puts c in its place; of two with one number the first is played.
func insert(l []spot, c spot) []spot {
	l = append(l, c)
	i := len(l) - 1
	for ; i > 0 && l[i-1].at > c.at; i-- {
		l[i] = l[i-1]
	}
	l[i] = c
	return l
}

// Stepped implements sim.Observer.
func (s *guided) Stepped(mv sim.Mover, touched []sim.Touch) {
	late := s.late(mv)
	s.last = mv
	for _, t := range touched {
		if f := s.pairs.touch(mv, t); f != 0 && s.seen.add(f^late) {
			s.showed = true
		}
	}
}

// late returns a number for a step that is out of order, and 0 for any other. Out of order are the steps of a CPU
// whose loads go past its held stores, and a store that takes effect when others have moved since.
func (s *guided) late(mv sim.Mover) uint64 {
	switch {
	case s.holding == 0:
	case mv < sim.MaxCPUs && s.holding>>mv&1 != 0:
		return saltHi
	case mv >= sim.MoverDrain && s.last != mv-sim.MoverDrain:
		return saltLo
	}
	return 0
}

// Learn implements Learner.
func (s *guided) Learn(features []uint64) {
	s.learned = len(features) > 0
	for _, f := range features {
		if s.seen.add(f) {
			s.showed = true
		}
	}
}

// End implements Strategy.
func (s *guided) End(asked uint64) {
	if !s.showed {
		return
	}
	s.done.stepsN, s.done.othersN = int(asked-s.player.noSteps), int(s.player.noSteps)
	if len(s.kept) < keptMost {
		s.kept = append(s.kept, newSparse())
		s.kept[len(s.kept)-1].copy(&s.done)
		return
	}
	s.kept[s.oldest].copy(&s.done)
	s.oldest = (s.oldest + 1) % keptMost
}

func (s *guided) String() string { return "guided" }

// Choose implements sim.Chooser.
func (s *guided) Choose(p *sim.Point) (pick, hold int) {
	if s.plays {
		pick, hold = s.player.answer(p)
	} else {
		pick, hold = s.fresh.Choose(p)
	}
	at := s.player.number(p)
	s.player.count(p)
	if p.Kind != sim.Step {
		s.done.others = note(s.done.others, at, pick)
		return pick, 0
	}
	s.holding = p.Moves[3]
	s.done.steps = note(s.done.steps, at, pick)
	return pick, hold
}

func note(l []spot, at uint64, pick int) []spot {
	if pick != 0 && len(l) < cap(l) {
		l = append(l, spot{at, pick})
	}
	return l
}

// pairs finds the features of a run's steps: it remembers the last mover that touched
// each object.
type pairs struct {
	last [512]lastTouch // by a hash of the object; one that clashes is forgotten
	used []uint16       // the places of last in use
}

type lastTouch struct {
	object sim.Object
	writer sim.Mover // the last mover that wrote it, or NoMover
	reader sim.Mover // the last mover that read it since then
	times  uint8     // how often it went from one mover to another, at most 255
}

func (h *pairs) clear() {
	for _, i := range h.used {
		h.last[i] = lastTouch{}
	}
	h.used = h.used[:0]
}

// touch records a touch. It returns the feature, or 0 if no other mover has touched the
// object.
func (h *pairs) touch(mv sim.Mover, t sim.Touch) (feature uint64) {
	i := uint16(sim.Mix(uint64(t.Object)) >> 55)
	e := &h.last[i]
	if e.object != t.Object {
		if e.object == 0 {
			h.used = append(h.used, i)
		}
		*e = lastTouch{object: t.Object, writer: sim.NoMover, reader: sim.NoMover}
	}
	from := e.writer
	if t.Write && e.reader != sim.NoMover && e.reader != mv {
		from = e.reader
	}
	if from != sim.NoMover && from != mv {
		if e.times < 255 {
			e.times++
		}
		if e.times&(e.times-1) == 0 { // a power of two
			feature = uint64(t.Object)<<24 ^ uint64(from)<<16 ^ uint64(mv)<<8 ^ uint64(e.times)
		}
	}
	if t.Write {
		e.writer, e.reader = mv, sim.NoMover
	} else {
		e.reader = mv
	}
	return feature
}
