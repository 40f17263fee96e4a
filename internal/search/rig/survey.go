package rig

import "kpsim/sched"

// surveyed is the number of runs of a survey besides the default one. In the default run a CPU
// that is the only one left has no boundaries, because there is no other CPU to switch to.
const surveyed = 8

// Survey runs the default schedule and a few others, always the same. It returns what
// strategies must know about runs, and the result of the default one. In the others work is
// delayed by at most delay questions (sched.Params.Delay), 0 for any number: waits for work
// are then shorter, and so CPUs reach fewer boundaries.
func (r *Rig) Survey(delay uint64) (*sched.Shape, Run) {
	run := r.Play(new(sched.Default))
	shape := &sched.Shape{Questions: run.Counts.Points, Engine: r.wiring.config.Booted != nil}
	for _, s := range r.Machine.Interrupts().Sources() {
		shape.Sources = append(shape.Sources, sched.Source{CPU: s.CPU(), Most: s.AtMost})
	}
	s := &sched.Surveyor{Strategy: sched.NewSticky(sched.Params{Length: shape.Questions, Mean: surveyMean,
		Delay: delay})}
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

// surveyMean is the mean number of boundaries after which those runs switch.
const surveyMean = 16
