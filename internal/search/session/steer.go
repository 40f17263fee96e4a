package session

import (
	"fmt"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// A steer is a Chooser that follows another one, unless one mover was selected to go first, or
// a version of text for CPUs to see.
type steer struct {
	by    sim.Chooser
	want  sim.Mover
	fetch []int         // what Session.Fetch was given and isn't used up, one at least
	trace sched.Locator // names of a session that follows a trace; nil: another session
	left  string        // where the trace was left first
	moved sim.Mover     // mover of the latest step with a choice; NoMover: none since this was reset
}

// Begin implements sched.Strategy.
func (s *steer) Begin(uint64) bool { return true }

// End implements sched.Strategy.
func (s *steer) End(uint64) {}

// String implements sched.Strategy.
func (s *steer) String() string { return "by hand" }

// Choose implements sim.Chooser. It never holds: a hold would have to survive steps that are made
// by hand. A trace is asked every question, as it counts them.
func (s *steer) Choose(p *sim.Point) (pick, hold int) {
	pick, byHand := s.byHand(p)
	if !byHand || s.trace != nil {
		decided, _ := s.by.Choose(p)
		decided = max(decided, 0)
		if !byHand {
			pick = decided
		}
		if pick != decided && s.left == "" {
			s.leave(p, pick, decided)
		}
	}
	if p.Kind == sim.Step {
		s.moved = p.Mover(pick)
	}
	return pick, 0 // not sim.Enough: the user ends the run
}

// byHand returns what was selected by hand.
func (s *steer) byHand(p *sim.Point) (pick int, ok bool) {
	switch {
	case p.Kind == sim.Step && s.want != sim.NoMover:
		for i := range p.N {
			if p.Mover(i) == s.want {
				return i, true
			}
		}
	case p.Kind == sim.Fetch:
		n := s.fetch[0]
		if len(s.fetch) > 1 {
			s.fetch = s.fetch[1:]
		}
		if n != AsDecided {
			return min(n, p.N-1), true
		}
	}
	return 0, false
}

// leave says where the trace is left.
func (s *steer) leave(p *sim.Point, pick, decided int) {
	is, was := s.trace.Alternative(p, pick), s.trace.Alternative(p, decided)
	if p.Kind == sim.Step {
		s.left = fmt.Sprintf("%s makes the step; the trace has %s", is, was)
		return
	}
	name, off, text := s.trace.Where(p.First)
	s.left = fmt.Sprintf("cpu%d in %s, %v: %s; the trace has %s", p.First,
		traces.Deviation{Name: name, Off: off, Text: text}.Place(), p.Kind, is, was)
}
