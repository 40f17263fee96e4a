package sched

import "kpsim/sim"

// A Choice is a question and its answer.
type Choice struct {
	Seq   uint64 // ordinal of the question
	Steps uint64 // number of Step questions before it
	Kind  sim.Kind
	N     int
	Pick  int
}

// A Recording is the recorded answers of a run.
type Recording struct {
	Choices []Choice // the deviations: answers other than 0
	All     []Choice // every answer, if requested
	Asked   uint64   // number of questions
}

// Recorder records what a strategy decides. It also checks that strategy and machine
// keep their contract.
type Recorder struct {
	Strategy
	All bool // record every answer, which rules out holds

	rec    Recording
	others uint64
	member sim.Chooser // the strategy that decides this run
}

// Recording returns the last run. It is valid until Begin.
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
		r.member = f.Member() // saves a call for each question
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
	if pick == 0 && hold >= 0 && p.Kind == sim.Step && !r.All { // the usual case
		return 0, hold
	}
	if pick == sim.Enough && p.Kind == sim.Step {
		return pick, 0
	}
	if uint(pick) >= uint(p.N) || hold < 0 || hold > 0 && pick > 0 {
		sim.Bug("question %d (%v) of %d alternatives was answered %d, hold %d", p.Seq, p.Kind, p.N, pick, hold)
	}
	if pick != 0 {
		r.note(&r.rec.Choices, p, pick)
	}
	if r.All {
		r.note(&r.rec.All, p, pick)
		hold = 0
	}
	if p.Kind != sim.Step {
		r.others++
	}
	return pick, hold
}

// Forced implements sim.Forced.
func (r *Recorder) Forced(p *sim.Point, pick int) {
	r.note(&r.rec.Choices, p, pick)
	if r.All {
		r.note(&r.rec.All, p, pick)
	}
	if f, ok := r.Strategy.(sim.Forced); ok {
		f.Forced(p, pick)
	}
}

// note appends an answer, field by field: copying a whole Choice would read it in
// larger pieces than it was written in, and the processor would stall.
func (r *Recorder) note(list *[]Choice, p *sim.Point, pick int) {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, Choice{})
	}
	c := &(*list)[n]
	c.Seq, c.Steps, c.Kind, c.N, c.Pick = p.Seq, p.Seq-r.others, p.Kind, p.N, pick
}

// NoHold forces each hold to 0. A run under it equals the run without it.
type NoHold struct{ Strategy }

// Choose implements sim.Chooser.
func (n NoHold) Choose(p *sim.Point) (pick, hold int) {
	pick, _ = n.Strategy.Choose(p)
	return pick, 0
}
