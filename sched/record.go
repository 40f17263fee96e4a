package sched

import "kpsim/sim"

// A Choice is a question and its answer.
type Choice struct {
	Seq   uint64 // ordinal of the question
	Steps uint64 // how many Step questions came before it
	Kind  sim.Kind
	N     int
	Pick  int
}

// A Recording is a run written down.
type Recording struct {
	Choices []Choice // the deviations: answers other than 0
	All     []Choice // every answer, if they were asked for
	Asked   uint64   // how many questions there were
}

// Recorder writes down what a strategy decides. It also checks that strategy
// and machine keep to their contract.
type Recorder struct {
	Strategy
	All bool // write down every answer: no holds then

	rec    Recording
	others uint64
	member sim.Chooser // that decides this run
}

// Recording returns the run that ended last. It is valid until Begin.
func (r *Recorder) Recording() *Recording { return &r.rec }

// Begin implements Strategy.
func (r *Recorder) Begin(i uint64) bool {
	r.rec.Choices = r.rec.Choices[:0]
	r.rec.All = r.rec.All[:0]
	r.rec.Asked = 0
	r.others = 0
	more := r.Strategy.Begin(i)
	r.member = r.Strategy
	if f, ok := r.Strategy.(*Portfolio); ok && more {
		r.member = f.Member() // a question less on the way
	}
	return more
}

// End implements Strategy.
func (r *Recorder) End(asked uint64) {
	r.rec.Asked = asked
	r.Strategy.End(asked)
}

// Choose implements sim.Chooser.
func (r *Recorder) Choose(p *sim.Point) (pick, hold int) {
	if p.N < 2 {
		sim.Bug("question %d (%v) has %d alternatives: it should not be asked", p.Seq, p.Kind, p.N)
	}
	pick, hold = r.member.Choose(p)
	if pick == 0 && hold >= 0 && p.Kind == sim.Step && !r.All { // mostly
		return 0, hold
	}
	if pick == sim.Enough && p.Kind == sim.Step {
		return pick, 0
	}
	if uint(pick) >= uint(p.N) || hold < 0 || hold > 0 && pick > 0 {
		sim.Bug("question %d (%v) of %d alternatives was answered %d, hold %d", p.Seq, p.Kind, p.N, pick, hold)
	}
	if pick != 0 {
		r.rec.Choices = r.note(r.rec.Choices, p, pick)
	}
	if r.All {
		r.rec.All = r.note(r.rec.All, p, pick)
		hold = 0
	}
	if p.Kind != sim.Step {
		r.others++
	}
	return pick, hold
}

// Forced implements sim.Forced.
func (r *Recorder) Forced(p *sim.Point, pick int) {
	r.rec.Choices = r.note(r.rec.Choices, p, pick)
	if r.All {
		r.rec.All = r.note(r.rec.All, p, pick)
	}
	if f, ok := r.Strategy.(sim.Forced); ok {
		f.Forced(p, pick)
	}
}

// note appends an answer, field by field: a Choice made first and then copied is
// read in larger pieces than it was written in, for which a processor waits.
func (r *Recorder) note(list []Choice, p *sim.Point, pick int) []Choice {
	if n := len(list); n < cap(list) {
		list = list[:n+1]
	} else {
		list = append(list, Choice{})
	}
	c := &list[len(list)-1]
	c.Seq, c.Steps, c.Kind, c.N, c.Pick = p.Seq, p.Seq-r.others, p.Kind, p.N, pick
	return list
}

// NoHold forces each hold to 0. A run under it equals the run without it.
type NoHold struct{ Strategy }

// Choose implements sim.Chooser.
func (n NoHold) Choose(p *sim.Point) (pick, hold int) {
	pick, _ = n.Strategy.Choose(p)
	return pick, 0
}
