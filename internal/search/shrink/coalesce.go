package shrink

import (
	"kpsim/sched"
	"kpsim/sim"
)

// A long schedule in which each question was answered at random has a deviation at most
// questions, and dropping one moves all that comes after it. So it is first cut in large
// pieces: within a window of the run each CPU does what it did there without losing its turn.
const (
	coalesceFrom  = 250 // deviations: fewer are dropped one by one
	coalesceRuns  = 160
	coalesceLeast = 16 // questions of the smallest window
)

// coalesce makes windows of the whole run, as large as may be, and then of parts of it.
func (s *shrinker) coalesce() bool {
	if !s.long() {
		return false
	}
	return s.within(coalesceRuns, s.effort.questions/2, func() (changed bool) {
		was := len(s.cur.anchors)
		course := s.course()
		for size := len(course.Moves); size >= coalesceLeast && s.long(); size /= 2 {
			if s.windows(course, 0, len(course.Moves), size) {
				break
			}
		}
		for size := len(course.Moves) / 2; size >= coalesceLeast && s.long(); size /= 2 {
			// what is before a window isn't moved by it
			for end := len(course.Moves); end > 0 && s.long(); end -= size {
				s.windows(course, max(end-size, 0), min(end, len(course.Moves)), size)
			}
		}
		return len(s.cur.anchors) < was
	})
}

func (s *shrinker) long() bool { return len(s.cur.anchors) > coalesceFrom && !s.effort.none() }

// course makes the current run again, and returns who moved in it; nothing if its labels
// don't lead back to it.
func (s *shrinker) course() *sched.Course {
	steps := &sched.Steps{Strategy: s.anchored(s.cur.anchors)}
	if digest := s.cur.run.Digest; !s.try(steps, func(a *attempt) bool { return a.run.Digest == digest }) {
		return new(sched.Course)
	}
	return &steps.Course
}

// windows makes windows of so many questions from one question of the course to another. The
// course becomes that of the new run, if that shows the violation.
func (s *shrinker) windows(course *sched.Course, from, end, size int) bool {
	gain := -1
	for i := from + 1; i < end; i++ {
		if s.owner(course.Moves[i]) != s.owner(course.Moves[i-1]) {
			gain++
		}
	}
	if gain <= 0 {
		return false
	}
	steps := &sched.Steps{Strategy: sched.NewCoalesced(course, s.owner, func(i int) int {
		if i < from || i >= end {
			return i + 1
		}
		return min(i+size, end)
	})}
	if !s.try(steps, s.fewer) {
		return false
	}
	*course = steps.Course
	return true
}

// owner is the CPU that a mover belongs to, or the mover itself.
func (s *shrinker) owner(m sim.Mover) sim.Mover {
	switch {
	case m < sim.MoverSource, m >= sim.MoverDrain:
		return m % sim.MaxCPUs
	}
	if cpu := s.rig.Machine.Interrupts().Sources()[m-sim.MoverSource].CPU(); cpu != sim.NoMover {
		return cpu
	}
	return m
}
