package rig

import "kpsim/sched"

// surveyed is how many runs a survey makes besides the default one. In that one
// a CPU that is last has no boundaries: there is no other CPU to go on.
const surveyed = 8

// Survey runs the default schedule and a few others, always the same, and returns what
// strategies must know of runs, and the result of the default one. In the others work is
// delayed by no more than delay questions (sched.Params.Delay), 0 for any: waits for it
// are shorter, and so CPUs reach fewer boundaries.
func (r *Rig) Survey(delay uint64) (*sched.Shape, Run) {
	run := r.Play(new(sched.Default))
	shape := &sched.Shape{Questions: run.Counts.Points, Engine: r.config.Booted != nil}
	for _, s := range r.Machine.Interrupts().Sources() {
		shape.Sources = append(shape.Sources, sched.Source{CPU: s.CPU(), Most: s.AtMost})
	}
	s := &sched.Surveyor{Strategy: sched.NewSticky(sched.Params{Length: shape.Questions, Mean: surveyMean, Delay: delay})}
	for i := range uint64(surveyed) {
		s.Begin(i)
		s.End(r.Run(s).Counts.Points)
	}
	shape.CPUs = s.Mean(surveyed)
	return shape, run
}

// Play makes the first run of a strategy.
func (r *Rig) Play(s sched.Strategy) Run {
	s.Begin(0)
	run := r.Run(s)
	s.End(run.Counts.Points)
	return run
}

// surveyMean is after how many boundaries those runs switch, in the mean.
const surveyMean = 16
