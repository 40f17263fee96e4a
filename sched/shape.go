package sched

import "kpsim/sim"

// A Shape describes typical runs. Strategies draw places from it, because they can't
// see ahead.
type Shape struct {
	Questions uint64               // in the default run
	CPUs      [sim.MaxCPUs]Stretch // in other runs, on average
	Sources   []Source
	Engine    bool // the steps are mostly instructions of an engine: many, with few conflicts
}

// A Stretch is how often a CPU is at a boundary in a run: the number of Step questions
// at which it goes on by default.
type Stretch struct {
	Boundaries int // all
	Watched    int // of these, the ones at which it is before watched text
}

// A Source describes an interrupt source to strategies.
type Source struct {
	CPU  sim.Mover // the CPU that it interrupts; NoMover: none, and it is armed again each time
	Most int       // how often it may fire in a run
}

// A Surveyor measures a Shape from the runs of another strategy.
type Surveyor struct {
	Strategy
	CPUs [sim.MaxCPUs]Stretch // of all runs so far
}

// Choose implements sim.Chooser. It holds nothing, so as to see everything.
func (s *Surveyor) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && p.First < sim.MaxCPUs {
		c := &s.CPUs[p.First]
		c.Boundaries++
		if p.Watched {
			c.Watched++
		}
	}
	pick, _ = s.Strategy.Choose(p)
	return pick, 0
}

// Mean returns the stretches of one run, averaged over n runs and rounded up.
func (s *Surveyor) Mean(n int) (cpus [sim.MaxCPUs]Stretch) {
	for i, c := range s.CPUs {
		cpus[i] = Stretch{(c.Boundaries + n - 1) / n, (c.Watched + n - 1) / n}
	}
	return cpus
}
