package sched

import "kpsim/sim"

// Bound limits the search to schedules with at most a given number of deviations from
// the default run: all of them. They are those of Bounded, for the same reasons. But a
// run ends where it reaches a known state, with the same default mover, and has no more
// deviations left than an earlier run had there. lead is called at questions; with
// First it identifies which mover goes on by default until the next deviation.
//
// Schedules with fewer deviations don't come first. The search begins, or begins again,
// with the conflicts that it has learnt.
func (s *States) Bound(most int, lead func() uint64) {
	s.Restart()
	s.next = 0
	s.bounded, s.most, s.lead = true, most, lead
}

// led adds the default mover to a state's digest.
func (s *States) led(p *sim.Point, hi, lo uint64) (uint64, uint64) {
	h := sim.Hash{Hi: hi, Lo: lo}
	h.Add(uint64(p.First))
	if s.lead != nil {
		h.Add(s.lead())
	}
	return h.Hi, h.Lo
}

// spare reports whether the run has more deviations left at a state than any earlier
// run.
func (s *States) spare(was *seen, again bool) bool {
	if again && int(was.left) >= s.left {
		return false
	}
	was.left, was.run = int32(s.left), s.next
	return true
}

// goesRound reports whether the run has reached a state before and hasn't deviated
// since: then it goes round for ever.
func (s *States) goesRound(was *seen) bool {
	return int(was.left) == s.left && (was.open || was.run == s.next)
}
