package sched

// GoneBack estimates, in millionths, the progress of the search. The number of schedules doesn't show it, because
// nearly all are in branches that end soon at a state that was seen. The search goes back along its first run, from
// the end. GoneBack is the share of that run's choices all of whose answers were tried, squared, since those near the
// end take less.
func (s *States) GoneBack() uint64 {
	const whole = 1_000_000
	if s.complete || s.choices == 0 {
		return s.Progress()
	}
	left := min(choicesOf(s.points[:min(s.shallow, len(s.points))]), s.choices)
	back := uint64(s.choices - left)
	return whole * back * back / uint64(s.choices*s.choices)
}

// choicesOf counts the points at which there is a choice.
func choicesOf(points []statePoint) (n int) {
	for i := range points {
		if p := &points[i]; !p.given && p.n > 1 {
			n++
		}
	}
	return n
}
