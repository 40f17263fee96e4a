package sched

import (
	"fmt"

	"kpsim/sim"
)

// Deviations runs all schedules of at most Most deviations, each once: first the
// default run, then all with one deviation, then all with two, because a budget may end
// the search early and a simple witness is worth more. Within a level they come in the
// order of (Seq, pick), the last deviation fastest.
//
// It remembers one list and nothing else. The schedule after
//
//	(4:1) (9:2)
//
// is (4:1) (9:3) if question 9 had more than three answers, else (4:1) (10:1). Only
// that run shows whether there is a question 10 after (4:1). If there isn't, the run
// repeats (4:1), isn't counted, and (4:2) (5:1) comes next. So each schedule of a level
// costs one repeat in each deeper level: one run in as many as it has children.
//
// With Shards the first deviations are dealt out by their Seq.
type Deviations struct {
	most          int
	shard, shards uint64

	list   []deviation
	played int    // deviations of list played in this run
	others uint64 // questions of this run that were no Step questions

	next     uint64 // run number
	found    uint64 // schedules of this level
	count    uint64
	complete bool
}

type deviation struct {
	seq  uint64
	pick int

	// About the question at seq, as the last run that reached it saw it:
	n     int
	kind  sim.Kind
	steps uint64 // Step questions before it
	known bool   // whether steps is right, even if the question is a new one
}

// NewDeviations returns a Deviations. Its runs must be taken in order.
func NewDeviations(p Params) *Deviations {
	p = p.normal()
	return &Deviations{most: p.Most, shard: p.Shard, shards: p.Shards, next: p.Shard}
}

// Complete reports whether all schedules (of this shard) were run.
func (d *Deviations) Complete() bool { return d.complete }

// Count returns how many different schedules were run to their end.
func (d *Deviations) Count() uint64 { return d.count }

// Repeat reports whether the last run repeated an earlier one.
func (d *Deviations) Repeat() bool { return d.played < len(d.list) }

func (d *Deviations) String() string { return fmt.Sprintf("deviations %d", d.most) }

// Begin implements Strategy.
func (d *Deviations) Begin(i uint64) bool {
	if d.complete {
		return false
	}
	if i != d.next {
		sim.Bug("deviations: run %d was begun when run %d was next", i, d.next)
	}
	first := d.next == d.shard
	d.next += d.shards
	switch {
	case first && d.shard == 0: // the default run
	case first:
		d.deepen()
	case !d.advance():
		d.complete = true
		return false
	}
	d.played, d.others = 0, 0
	return true
}

// End implements Strategy.
func (d *Deviations) End(uint64) {
	if !d.Repeat() {
		d.found++
		d.count++
	}
}

// advance makes list the schedule after the last run's.
func (d *Deviations) advance() bool {
	if d.played == 0 { // the default run, or a repeat of it: this level is finished
		if d.found == 0 || len(d.list) == d.most {
			return false
		}
		d.deepen()
		return true
	}

	// The last deviation that was reached moves on, those after it follow.
	e := &d.list[d.played-1]
	if e.pick++; e.pick == e.n {
		d.move(e)
	}
	d.follow(d.played)
	return true
}

// deepen makes list the first schedule with one deviation more.
func (d *Deviations) deepen() {
	d.found = 0
	d.list = append(d.list, deviation{})
	d.list[0] = deviation{seq: d.shard, pick: 1, known: d.shard == 0}
	d.follow(1)
}

// move moves the first deviation to the next question, d.shards on if e is the first of
// the list.
func (d *Deviations) move(e *deviation) {
	e.pick = 1
	if e.kind == sim.Step {
		e.steps++
	}
	e.seq++
	if e == &d.list[0] {
		e.seq += d.shards - 1
		e.known = d.shards == 1
	}
}

// follow puts the deviations from number i on right after the one before.
func (d *Deviations) follow(i int) {
	for ; i < len(d.list); i++ {
		d.list[i] = deviation{seq: d.list[i-1].seq + 1, pick: 1}
	}
}

// Choose implements sim.Chooser.
func (d *Deviations) Choose(p *sim.Point) (pick, hold int) {
	at := p.Seq - d.others
	if p.Kind != sim.Step {
		d.others++
	}
	if d.played == len(d.list) {
		return 0, holdStep(p, forever)
	}

	e := &d.list[d.played]
	if p.Seq < e.seq {
		if !e.known {
			return 0, 0
		}
		return 0, holdStep(p, int(e.steps-at-1))
	}

	if p.Seq > e.seq || e.pick >= p.N {
		sim.Bug("deviations: question %d of %d alternatives, when (%d:%d) was to be played", p.Seq, p.N, e.seq, e.pick)
	}
	e.n, e.kind, e.steps, e.known = p.N, p.Kind, at, true
	d.played++
	return e.pick, 0
}

// holdStep returns n if p may be held, which only Step questions may. It is for
// strategies that decide by the number of a question alone.
func holdStep(p *sim.Point, n int) int {
	if p.Kind != sim.Step || n <= 0 {
		return 0
	}
	return n + sim.Steady + sim.Through + sim.Drains
}
