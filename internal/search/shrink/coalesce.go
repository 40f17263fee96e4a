package shrink

import (
	"kpsim/sched"
	"kpsim/sim"
)

// In a long schedule in which each question was answered at random, most questions have a
// deviation, and dropping one moves all that follow. So it is first reduced in large pieces:
// within a window of the run, each CPU makes the steps it made there without losing its turn.
const (
	coalesceFrom  = 250 // deviations; with fewer they are dropped one by one
	coalesceRuns  = 160
	coalesceLeast = 16 // questions of the smallest window
)

// coalesce tries windows of the whole run, as large as possible, then of parts of it.
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
			// a window doesn't move what precedes it
			for end := len(course.Moves); end > 0 && s.long(); end -= size {
				s.windows(course, max(end-size, 0), min(end, len(course.Moves)), size)
			}
		}
		return len(s.cur.anchors) < was
	})
}

func (s *shrinker) long() bool { return len(s.cur.anchors) > coalesceFrom && !s.effort.none() }

// course repeats the current run and returns the movers of its steps, or nil if its labels don't
// lead back to it.
func (s *shrinker) course() *sched.Course {
	steps := &sched.Steps{Strategy: s.anchored(s.cur.anchors)}
	if digest := s.cur.run.Digest; !s.try(steps, func(a *attempt) bool { return a.run.Digest == digest }) {
		return new(sched.Course)
	}
	return &steps.Course
}

// windows tries windows of size questions between two questions of the course. If a new run shows
// the violation, its course replaces the old one.
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

// owner returns the CPU that a mover belongs to, or the mover itself.
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
