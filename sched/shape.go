package sched

import "kpsim/sim"

// A Shape is what runs look like: what strategies draw places from that they
// can't see ahead.
type Shape struct {
	Questions uint64               // of the default run
	CPUs      [sim.MaxCPUs]Stretch // of others, in the mean
	Sources   []Source
}

// A Stretch is how often a CPU is at a boundary in a run: the Step questions at
// which it goes on by default.
type Stretch struct {
	Boundaries int // all
	Watched    int // those at which it stands before watched text
}

// A Source is an interrupt source as strategies know it.
type Source struct {
	CPU  sim.Mover // that it interrupts; NoMover: it interrupts none, and is armed anew each time
	Most int       // how often it may fire in a run
}

// A Surveyor counts what a Shape is made of in the runs of another strategy.
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

// Mean returns the stretches of one of n runs, in the mean and rounded up.
func (s *Surveyor) Mean(n int) (cpus [sim.MaxCPUs]Stretch) {
	for i, c := range s.CPUs {
		cpus[i] = Stretch{(c.Boundaries + n - 1) / n, (c.Watched + n - 1) / n}
	}
	return cpus
}
