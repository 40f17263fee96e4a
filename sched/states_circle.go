package sched

import "kpsim/sim"

// Schedules without an end: how one is known, and goes on.

// staysMost is after how many equal answers in a row, with no state between, a run goes round.
const staysMost = 1000

// stays reports whether a run goes round without coming to a state: one CPU alone goes on, and is asked the same, with
// the same answer, again and again (it fetches the old bytes of a loop).
func (s *States) stays(p *sim.Point) bool {
	n := len(s.points) - staysMost
	if n < 0 || s.bounded {
		return false
	}
	for i := n; i < len(s.points); i++ {
		if x := &s.points[i]; x.kind != p.Kind || x.n != p.N || x.pick != s.points[n].pick {
			return false
		}
	}
	return true
}

// isCircle reports whether a state that was seen is on the way of the run.
func (s *States) isCircle(was *seen) bool {
	return was.open && !s.bounded || s.bounded && s.goesRound(was)
}

// close notes that the run has reached a state again, on its way from it.
func (s *States) close(p *sim.Point, k lanes) (pick int) {
	if s.bounded {
		s.circle = 0
		return 0
	}
	for s.circle = 0; s.points[s.circle].state != k; {
		s.circle++
	}
	s.round, s.visible = s.circle, true
	return s.goRound(p)
}

// goRound answers as the run did when it was there before; the default mover may differ now.
func (s *States) goRound(p *sim.Point) (pick int) {
	if s.bounded {
		return 0 // as it did
	}
	if p.Kind == sim.Step && !s.visible && p.Moves == s.moves {
		if has(p, s.mover) {
			pick = alternative(p, s.mover)
		}
		return pick
	}
	x := &s.points[s.round]
	for x.given {
		s.step()
		x = &s.points[s.round]
	}
	s.step()
	if p.Kind != x.kind || p.N != x.n || p.Kind == sim.Step && !has(p, x.mover) {
		s.over = true // the first round has shown new conflicts: the search begins again
		return enough(p)
	}
	if p.Kind != sim.Step {
		return x.pick
	}
	s.visible, s.moves, s.mover = false, p.Moves, x.mover
	return alternative(p, s.mover)
}

// step advances to the next point of the circle.
func (s *States) step() {
	if s.round++; s.round == len(s.points) {
		s.round = s.circle
	}
}
