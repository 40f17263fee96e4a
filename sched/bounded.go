package sched

import (
	"fmt"

	"kpsim/sim"
)

// Bounded runs all schedules of at most so many deviations, but of those that
// come to the same at a time when they have as many deviations left one only:
// first the default run, then all with one deviation, and so on. It is to be
// observed.
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
	level int           // deviations of the schedules being run, at most
	lead  func() uint64 // what besides the question says who goes on by default; may be nil
	runs  []boundedRun  // the run being made, and those it deviates from
	seen  map[boundedKey]uint8
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
	Done   int    // all schedules of at most so many deviations were run; -1: not even the default
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
func NewBounded(most int, lead func() uint64) *Bounded {
	b := &Bounded{most: most, lead: lead, seen: make(map[boundedKey]uint8), runs: []boundedRun{{alt: 1}}}
	b.stats.Done = -1
	return b
}

// Restart begins the search anew: a run has shown that steps touch more than
// they were known to.
func (b *Bounded) Restart() {
	clear(b.seen)
	b.level, b.complete, b.stats = 0, false, BoundedStats{Done: -1}
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

// Progress returns how much of the schedules of this many deviations was run,
// in millionths.
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

// Level returns how many deviations the schedules have that are being run.
func (b *Bounded) Level() int { return b.level }

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
		if n := len(b.runs); n > 1 {
			b.runs = b.runs[:n-1]
			continue
		}
		if b.stats.Done = b.level; b.level == b.most {
			b.complete = true
			return
		}
		b.level++
		clear(b.seen)
		b.runs[0] = boundedRun{points: b.runs[0].points[:0], alt: 1}
		return // the default run again: it has more to lead to
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
		return 0, holdStep(p, forever)
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
		b.consider(p)
	}
	b.happens.Chose(p, pick)
	return pick, 0
}

// consider takes down where the run may deviate.
func (b *Bounded) consider(p *sim.Point) {
	left := b.level - (len(b.runs) - 1)
	if left == 0 {
		b.over = true
		return
	}
	if p.Kind == sim.Step {
		hi, lo := b.happens.Hash()
		k := boundedKey{lanes{hi, lo}, uint64(p.First)}
		if b.lead != nil {
			k.lead |= b.lead() << 8
		}
		if int(b.seen[k]) >= left {
			b.over, b.pruned = true, true
			return
		}
		b.seen[k] = uint8(left)
	}
	b.stats.Points++
	r := &b.runs[len(b.runs)-1]
	r.points = append(r.points, boundedPoint{p.Seq, p.N})
}
