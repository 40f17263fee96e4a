package sched

import (
	"fmt"
	"math/bits"

	"kpsim/sim"
)

// PCT is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and
// Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs",
// ASPLOS 2010). Each mover has a random priority, and the highest of those that can
// move goes next. At Depth-1 boundaries, drawn in advance and uniformly, the mover that
// would go next gets a priority below all initial ones; which of the low priorities, is
// also drawn.
//
// A bug has depth d if d orderings of steps suffice to trigger it. With n movers and at
// most k questions, a run at Depth d finds it with probability at least 1/(n k^(d-1))
// (theorem 9 of the paper). An interrupt source counts as a mover with one step, which
// begins when it can fire, and so does a pending IPI.
//
// Small programs have few runs of a depth: half of them and more would repeat earlier ones
// exactly. So while runs repeat, the next ones have more change points than Depth-1; one in
// eight keeps to Depth, and for those the theorem holds.
//
// Questions are held until a change point, or until the set of moves changes.
type PCT struct {
	seed   uint64
	depth  int
	length int // number of questions from which change points are drawn
	past   past
	taken  uint64 // hash of the deviations of this run
	next   uint64 // run number
	every  uint64 // distance from one run number to the next

	rand   sim.Rand
	others uint64 // questions so far that were no Step questions
	priorities
	change changes
	holds  holds
}

// newPCT returns a PCT. Its runs must be taken in order.
func newPCT(p Params) *PCT {
	p = p.normal()
	return &PCT{seed: p.Seed, depth: min(p.Depth, changesMost+1), length: int(p.Length), next: p.Shard,
		every: p.Shards}
}

// Begin implements Strategy: there is always another run.
func (s *PCT) Begin(i uint64) bool {
	if i != s.next {
		sim.Bug("pct: run %d was begun when run %d was next", i, s.next)
	}
	s.next += s.every
	s.rand.Seed(s.seed, i)
	s.others, s.taken = 0, 0
	s.holds.begin()
	s.priorities.begin(&s.rand)
	s.change.begin()
	points := s.depth - 1
	if i/s.every%keepsDepth != 0 {
		points = min(points+s.past.deeper, changesMost)
	}
	for i := range points {
		s.change.add(uint64(s.rand.N(s.length)), i)
	}
	return true
}

// End implements Strategy.
func (s *PCT) End(uint64) { s.past.add(s.taken) }

func (s *PCT) String() string { return fmt.Sprintf("pct %d", s.depth) }

// Choose implements sim.Chooser.
func (s *PCT) Choose(p *sim.Point) (pick, hold int) {
	pick, hold = s.choose(p)
	if pick != 0 {
		s.taken = sim.Mix(s.taken ^ p.Seq<<8 ^ uint64(pick))
	}
	return pick, hold
}

func (s *PCT) choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		s.others++
		return s.holds.answer(&s.rand, p), 0
	}
	at := p.Seq - s.others
	if p.Moves[3] != 0 {
		if m := s.holds.next(&s.rand, p, at); m != sim.NoMover {
			return p.Pick(m), 0
		}
	}
	m := s.highest(p, p.Moves[2])
	for s.change.next() <= at {
		s.lower(m, s.change.pass())
		m = s.highest(p, p.Moves[2])
	}
	if m != p.First {
		return p.Pick(m), 0
	}
	return 0, int(min(s.change.next()-at, uint64(s.holds.wait(at)))) - 1 + sim.Through
}

// past counts the runs that repeat an earlier one.
type past struct {
	seen          recent
	runs, repeats int // of the present window
	deeper        int // further change points that runs get
}

const (
	window     = 16 // runs after which deeper is decided again
	keepsDepth = 8  // one run in this many has Depth-1 change points
)

// add counts a run by the hash of its deviations.
func (h *past) add(taken uint64) {
	if !h.seen.add(taken) {
		h.repeats++
	}
	if h.runs++; h.runs < window {
		return
	}
	switch {
	case h.repeats > window/4:
		h.deeper = min(h.deeper+h.repeats/(window/4), changesMost)
	case h.repeats < window/8 && h.deeper > 0:
		h.deeper--
	}
	h.runs, h.repeats = 0, 0
}

// recent is a set of hashes, by their low bits. It forgets: a later hash takes an earlier one's
// place. 0, the hash of no deviations, is in it from the beginning: each exploration makes the
// default run first.
type recent [1 << 12]uint64

// add adds a hash, and reports whether it is new, or forgotten.
func (r *recent) add(hash uint64) bool {
	at := &r[hash%uint64(len(r))]
	if *at == hash {
		return false
	}
	*at = hash
	return true
}

// changesMost bounds the change points of a run.
const changesMost = 16

// changes are the numbers at which a mover's priority changes, ascending, and the new
// priorities: they are drawn in no order, so any of them may be the lowest.
type changes struct {
	at        [changesMost]uint64
	to        [changesMost]int
	n, passed int
}

func (c *changes) begin() { c.n, c.passed = 0, 0 }

// add adds one change. No change may have passed yet.
func (c *changes) add(at uint64, to int) {
	i := c.n
	for ; i > 0 && c.at[i-1] > at; i-- {
		c.at[i], c.to[i] = c.at[i-1], c.to[i-1]
	}
	c.at[i], c.to[i] = at, to
	c.n++
}

// next returns the first change that hasn't passed, or a very large number.
func (c *changes) next() uint64 {
	if c.passed == c.n {
		return 1 << 63
	}
	return c.at[c.passed]
}

func (c *changes) pass() (to int) {
	c.passed++
	return c.to[c.passed-1]
}

// priorities are those of movers. Each is drawn when it is first needed; lowered ones
// are below all others.
type priorities struct {
	salt uint64
	low  [changesMost]lowering
	lows int // how many of low are in use
}

type lowering struct {
	mover sim.Mover
	to    int
}

func (s *priorities) begin(r *sim.Rand) { s.salt, s.lows = r.Uint64(), 0 }

// highest returns the mover of highest priority among the CPUs and IPIs that
// can move, and the given sources.
func (s *priorities) highest(p *sim.Point, sources uint64) (best sim.Mover) {
	best, most := s.highestOf(0, p.Moves[0], 0, 0)
	best, most = s.highestOf(sim.MoverIPI, p.Moves[1], best, most)
	best, _ = s.highestOf(sim.MoverSource, sources, best, most)
	return best
}

// highestOf returns the mover with the highest priority, and that priority. The candidates are
// best, with priority most, and the movers of set, whose bit 0 stands for first.
func (s *priorities) highestOf(first sim.Mover, set uint64, best sim.Mover, most uint64) (sim.Mover, uint64) {
	for ; set != 0; set &= set - 1 {
		m := first + sim.Mover(bits.TrailingZeros64(set))
		if v := s.of(m); v > most {
			best, most = m, v
		}
	}
	return best, most
}

// of returns a mover's priority, at least 1.
func (s *priorities) of(m sim.Mover) uint64 {
	for i := s.lows - 1; i >= 0; i-- { // the last lowering of a mover counts
		if s.low[i].mover == m {
			return uint64(1 + s.low[i].to)
		}
	}
	return sim.Mix(s.salt+uint64(m)) | 1<<63
}

// lowered reports whether a mover was lowered.
func (s *priorities) lowered(m sim.Mover) bool { return s.of(m) <= changesMost+1 }

// lower gives a mover a priority below all initial ones. All priorities are distinct.
func (s *priorities) lower(m sim.Mover, to int) {
	s.low[s.lows] = lowering{m, to}
	s.lows++
}
