package sched

import (
	"fmt"

	"kpsim/sim"
)

// Bounded runs all schedules of at most so many deviations, but of those that
// come to the same at a time when they have as many deviations left one only.
// It is to be observed.
//
// Deviations lie at visible points: right after a step that touched something
// that others see, or after which others can move; and at questions that are no
// Step. That leaves nothing out. A deviation within a stretch of private steps
// leads to the same as one at its start, for what it lets move commutes with
// them, an interrupt's delivery too; whoever is then let go on goes on alike.
//
// What was run is known by three things: which steps were made, up to the order
// of those that commute (Happens); who goes on by default, now and after; and
// how many deviations are left. If the first two are the same, the machine is
// in the same state, and so the same schedules lead on from there: a run that
// comes to where one was that had as many left, or more, has nothing of its own
// to lead to. No other reduction is made.
type Bounded struct {
	most  int
	share uint64               // which of the first deviations are its own,
	of    uint64               // one in so many
	lead  func() uint64        // what besides the question says who goes on by default; may be nil
	runs  []boundedRun         // the run being made, and those it deviates from
	seen  map[boundedKey]uint8 // how many deviations were left, and 1
	next  uint64

	// In this run.
	happens Happens
	played  int
	visible bool
	moves   [3]uint64
	over    bool // there is nothing more to see in it
	pruned  bool // for it has come to where another was

	complete bool
	stats    BoundedStats
}

// BoundedStats says what a search has done so far.
type BoundedStats struct {
	Runs   uint64
	Pruned uint64 // of Runs, those that came to where another was
	Points uint64 // at which they could deviate, the pruned ones not counted
	States int    // that are known
}

// A boundedRun is one run and where it may deviate.
type boundedRun struct {
	seq    uint64 // its last deviation: question …
	pick   int    // … and answer; not in the default run
	points []boundedPoint
	at     int // the point to deviate at next,
	alt    int // and the answer
}

type boundedPoint struct {
	seq uint64
	n   int
}

type boundedKey struct {
	class lanes
	lead  uint64
}

// NewBounded returns a Bounded of at most most deviations. lead is called at
// questions; with First it says who goes on by default until the next deviation.
// The first deviations are dealt out: to share 0 of 1 all of them.
func NewBounded(most int, share, of uint64, lead func() uint64) *Bounded {
	return &Bounded{
		most: most, share: share, of: of, lead: lead,
		seen: make(map[boundedKey]uint8), runs: []boundedRun{{alt: 1}},
	}
}

// Restart begins the search anew: a run has shown that steps touch more than
// they were known to.
func (b *Bounded) Restart() {
	clear(b.seen)
	b.complete, b.stats = false, BoundedStats{}
	b.runs = append(b.runs[:0], boundedRun{alt: 1})
}

// Complete says that all was run.
func (b *Bounded) Complete() bool { return b.complete }

// Stats returns what was done so far.
func (b *Bounded) Stats() BoundedStats {
	s := b.stats
	s.States = len(b.seen)
	return s
}

// Bytes is about how much memory the search takes, as States.Bytes.
func (b *Bounded) Bytes() int {
	const seenBytes = 80 // a key, and what a map has to spare
	return len(b.seen) * seenBytes
}

// Progress returns how much of the tree that is known so far was run, in
// millionths: each of the ways that lead on from a run counts the same.
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

// Begin implements Strategy. Runs are taken in order.
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
	b.moves = [3]uint64{}
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

// advance makes the next run that deviates from the last one.
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

// consider takes down where the run may deviate.
func (b *Bounded) consider(p *sim.Point) {
	left := b.most - (len(b.runs) - 1)
	if p.Kind == sim.Step {
		hi, lo := b.happens.Hash()
		k := boundedKey{lanes{hi, lo}, uint64(p.First)}
		if b.lead != nil {
			k.lead |= b.lead() << 8
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
