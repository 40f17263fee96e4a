package sched

import "kpsim/sim"

// Bound makes it run only schedules of at most so many deviations from the default
// run: all of them. They are those of Bounded, and for the same reasons; but a run
// ends where it comes to a state, and who goes on by default is the same, when it has
// no more deviations left than another one had there. lead is called at questions; with
// First it says who goes on by default until the next deviation.
//
// Those with fewer deviations don't come first. The search begins, or begins anew, with
// what it has learnt.
func (s *States) Bound(most int, lead func() uint64) {
	s.Restart()
	s.next = 0
	s.bounded, s.most, s.lead = true, most, lead
}

// led adds to a state's digest who goes on by default.
func (s *States) led(p *sim.Point, hi, lo uint64) (uint64, uint64) {
	h := sim.Hash{Hi: hi, Lo: lo}
	h.Add(uint64(p.First))
	if s.lead != nil {
		h.Add(s.lead())
	}
	return h.Hi, h.Lo
}

// spare reports whether the run has more deviations left at a state than any before it.
func (s *States) spare(was *seen, again bool) bool {
	if again && int(was.left) >= s.left {
		return false
	}
	was.left, was.run = int32(s.left), s.next
	return true
}

// goesRound reports whether the run has come to a state before, and not deviated since:
// then it never does anything else.
func (s *States) goesRound(was *seen) bool {
	return int(was.left) == s.left && (was.open || was.run == s.next)
}
