package sched

import (
	"fmt"

	"kpsim/sim"
)

// Bounded runs all schedules with at most a given number of deviations, but only one of those that reach the same
// state with the same number of deviations left. It has to observe the steps.
//
// Deviations lie at visible points: right after a step that touched something shared, or after which the set of moves
// has changed; and at questions other than Step. That loses nothing: a deviation within a stretch of private steps
// has the same effect as one at its start, because the move it allows commutes with them, an interrupt's delivery
// included, and the same mover goes on afterwards.
//
// A state is identified by the steps made, up to the order of commuting ones (Happens), and by which mover goes on by
// default, now and later. If both are equal, the machine is in the same state, and the same schedules continue from
// there. So a run that reaches the state of an earlier run that had as many deviations left, or more, leads to
// nothing new. No other reduction is made.
type Bounded struct {
	most  int
	share uint64               // deal out the first deviations: this search has one in of, number share
	of    uint64               // the number of shares
	lead  func() uint64        // identifies, with the question, which mover goes on by default; may be nil
	runs  []boundedRun         // the run being made, and those it deviates from
	seen  map[boundedKey]uint8 // how many deviations were left, plus 1
	next  uint64

	// In this run.
	happens Happens
	played  int
	visible bool
	moves   sim.Moves
	over    bool // the rest of the run shows nothing new
	pruned  bool // because it has reached the state of another run

	complete bool
	stats    BoundedStats
}

// BoundedStats are the counts of a search so far.
type BoundedStats struct {
	Runs   uint64
	Pruned uint64 // among Runs, those that reached the state of another run
	Points uint64 // points at which they could deviate, pruned runs not counted
	States int    // distinct states
}

// A boundedRun is one run and where it may deviate.
type boundedRun struct {
	seq    uint64 // its last deviation: question …
	pick   int    // … and answer; not in the default run
	points []boundedPoint
	at     int // the point of the next deviation,
	alt    int // and the answer
}

type boundedPoint struct {
	seq uint64
	n   int
}

type boundedKey struct {
	class lanes
	first sim.Mover
	lead  uint64
}

// NewBounded returns a Bounded of at most most deviations. lead is called at questions;
// with First it identifies which mover goes on by default until the next deviation. The
// first deviations are dealt out to of shares; share 0 of 1 has all of them.
func NewBounded(most int, share, of uint64, lead func() uint64) *Bounded {
	return &Bounded{
		most: most, share: share, of: of, lead: lead,
		seen: make(map[boundedKey]uint8), runs: []boundedRun{{alt: 1}},
	}
}

// Restart begins the search again, because a run has shown that steps touch more than was known.
func (b *Bounded) Restart() {
	clear(b.seen)
	b.complete, b.stats = false, BoundedStats{}
	b.runs = append(b.runs[:0], boundedRun{alt: 1})
}

// Complete reports whether all schedules were run.
func (b *Bounded) Complete() bool { return b.complete }

// Stats returns the counts so far.
func (b *Bounded) Stats() BoundedStats {
	s := b.stats
	s.States = len(b.seen)
	return s
}

// Bytes estimates how much memory the search takes, as States.Bytes.
func (b *Bounded) Bytes() int {
	const seenBytes = 80 // a key, and the map's overhead
	return len(b.seen) * seenBytes
}

// Progress estimates, in millionths, how much of the known tree was run: all branches
// of a run count the same.
func (b *Bounded) Progress() uint64 {
	const whole = 1_000_000
	if b.complete {
		return whole
	}
	done, share := uint64(0), uint64(whole)<<20
	for i := range b.runs {
		r := &b.runs[i]
		if n := uint64(len(r.points)); n > 0 {
			done += share / n * uint64(min(r.at, len(r.points)))
			share /= n
		}
	}
	return done >> 20
}

func (b *Bounded) String() string { return fmt.Sprintf("bounded %d", b.most) }

// Begin implements Strategy. Runs must be taken in order.
func (b *Bounded) Begin(i uint64) bool {
	if b.complete {
		return false
	}
	if i != b.next {
		sim.Bug("bounded: run %d was begun when run %d was next", i, b.next)
	}
	b.next++
	b.happens.Reset()
	b.played, b.visible, b.over, b.pruned = 0, true, false, false
	b.moves = sim.Moves{}
	return true
}

// End implements Strategy.
func (b *Bounded) End(uint64) {
	if b.played < len(b.runs)-1 {
		sim.Bug("bounded: the run ended before its deviation at question %d", b.runs[b.played+1].seq)
	}
	if b.stats.Runs++; b.pruned {
		b.stats.Pruned++
	}
	for !b.advance() {
		n := len(b.runs)
		if n == 1 {
			b.complete = true
			return
		}
		b.runs = b.runs[:n-1]
	}
}

// advance finds the next run that deviates from the last one.
func (b *Bounded) advance() bool {
	n := len(b.runs)
	r := &b.runs[n-1]
	if r.at == len(r.points) {
		return false
	}
	seq, pick := r.points[r.at].seq, r.alt
	if r.alt++; r.alt == r.points[r.at].n {
		r.at, r.alt = r.at+1, 1
	}
	if n < cap(b.runs) {
		b.runs = b.runs[:n+1]
	} else {
		b.runs = append(b.runs, boundedRun{})
	}
	b.runs[n] = boundedRun{seq: seq, pick: pick, points: b.runs[n].points[:0], alt: 1}
	return true
}

// Stepped implements sim.Observer.
func (b *Bounded) Stepped(mv sim.Mover, touched []sim.Touch) {
	if b.over {
		return
	}
	b.happens.Stepped(mv, touched)
	b.visible = b.visible || len(touched) > 0
}

// Choose implements sim.Chooser.
func (b *Bounded) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return holdsStores, 0
	}
	if b.over {
		return enough(p), 0
	}
	point := true
	if p.Kind == sim.Step {
		point = b.visible || p.Moves != b.moves
		b.visible, b.moves = false, p.Moves
	}
	if b.played+1 < len(b.runs) {
		if r := &b.runs[b.played+1]; p.Seq == r.seq {
			pick = r.pick
			b.played++
		}
	} else if point {
		if b.consider(p); b.over && p.Kind == sim.Step {
			return sim.Enough, 0
		}
	}
	b.happens.Chose(p, pick)
	return pick, 0
}

// consider notes a point where the run may deviate.
func (b *Bounded) consider(p *sim.Point) {
	left := b.most - (len(b.runs) - 1)
	if p.Kind == sim.Step {
		hi, lo := b.happens.Hash()
		k := boundedKey{class: lanes{hi, lo}, first: p.First}
		if b.lead != nil {
			k.lead = b.lead()
		}
		if int(b.seen[k]) > left {
			b.over, b.pruned = true, true
			return
		}
		b.seen[k] = uint8(left) + 1
	}
	if left == 0 {
		return
	}
	b.stats.Points++
	r := &b.runs[len(b.runs)-1]
	if len(b.runs) == 1 && (b.stats.Points-1)%b.of != b.share {
		return
	}
	r.points = append(r.points, boundedPoint{p.Seq, p.N})
}
