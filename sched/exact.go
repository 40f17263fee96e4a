package sched

import (
	"fmt"
	"slices"

	"kpsim/sim"
)

// Exact replays a recording of this build. A run is a function of its answers, so it
// can leave its recording only if the simulator is broken: then it panics with a
// *Divergence.
type Exact struct {
	want   []Choice
	asked  uint64
	pos    int
	others uint64
	all    bool // want has every question
}

// NewExact returns a strategy of one run, which replays r. If r.All was recorded every question is compared,
// otherwise only the deviations.
func NewExact(r *Recording) *Exact {
	if len(r.All) > 0 {
		return &Exact{want: slices.Clone(r.All), asked: r.Asked, all: true}
	}
	return &Exact{want: slices.Clone(r.Choices), asked: r.Asked}
}

// Divergence says where an exact replay left its recording.
type Divergence struct {
	At    int    // index in the recording
	Want  Choice // the next recorded choice; Kind and N are 0 if there is none
	Asked Choice // the question asked; N is 0 if the run ended
}

func (d *Divergence) Error() string {
	want, asked := "the end", "the run ended"
	if d.Want.N > 0 {
		want = fmt.Sprintf("question %d (%v of %d)", d.Want.Seq, d.Want.Kind, d.Want.N)
	}
	if d.Asked.N > 0 {
		asked = fmt.Sprintf("question %d (%v of %d) was asked", d.Asked.Seq, d.Asked.Kind, d.Asked.N)
	}
	return fmt.Sprintf("a replay left its recording at answer %d: next there is %s, but %s", d.At, want, asked)
}

// Unwrap makes it a bug of the simulator for errors.As.
func (d *Divergence) Unwrap() error { return &sim.BugError{Message: d.Error()} }

// Begin implements Strategy.
func (e *Exact) Begin(i uint64) bool {
	e.pos, e.others = 0, 0
	return i == 0
}

// End implements Strategy: the run must end where the recording does.
func (e *Exact) End(asked uint64) {
	if e.pos < len(e.want) || asked != e.asked {
		e.diverge(Choice{Seq: asked})
	}
}

func (e *Exact) String() string { return "exact replay" }

// Shorter replays a recording in a run that may end earlier, at a violation that the
// recorded run continued after.
type Shorter struct{ *Exact }

// End implements Strategy.
func (Shorter) End(uint64) {}

// Choose implements sim.Chooser.
func (e *Exact) Choose(p *sim.Point) (pick, hold int) {
	asked := Choice{p.Seq, p.Seq - e.others, p.Kind, p.N, 0}
	if p.Kind != sim.Step {
		e.others++
	}
	if e.pos == len(e.want) {
		if e.all {
			e.diverge(asked)
		}
		return 0, holdStep(p, forever)
	}

	c := e.want[e.pos]
	if p.Seq < c.Seq && asked.Steps <= c.Steps {
		return 0, holdStep(p, max(0, int(c.Steps)-int(asked.Steps)-1))
	}
	asked.Pick = c.Pick // not recorded, so no difference
	if c != asked {
		e.diverge(asked)
	}
	e.pos++
	return c.Pick, 0
}

func (e *Exact) diverge(asked Choice) {
	d := &Divergence{At: e.pos, Asked: asked}
	if e.pos < len(e.want) {
		d.Want = e.want[e.pos]
	}
	panic(d)
}
