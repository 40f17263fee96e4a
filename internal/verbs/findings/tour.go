package findings

import (
	"fmt"
	"runtime"
	"time"

	"kpsim/internal/search/rig"
	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
	verb "kpsim/internal/verbs/small"
	"kpsim/sched"
)

// If no scenario is named, all are searched: a tour. A scenario then gets tourMargin times the
// median number of schedules after which a search finds its race, so that one in a million
// searches misses a race that any schedule shows alike. It gets at least a share of what it
// gets when it is named, for its statistics, and at most all of that.
const (
	tourMargin = 20
	tourShare  = 8
)

func tourRuns(usual, effort uint64) uint64 {
	return min(max(tourMargin*effort, usual/tourShare), usual)
}

// drawnTime is the factor by which a drawn run, with everything else that a search does, takes
// longer than the default one.
const drawnTime = 2

// printTour prints on standard error how long a tour will take.
func (c *Explore) printTour(p *cli.Program, jobs []*job) {
	if len(c.Scenarios) > 0 {
		return
	}
	runs, took := uint64(0), time.Duration(0)
	for _, j := range jobs {
		runs += j.runs
		took += drawnTime * j.each * time.Duration(j.runs)
	}
	workers := c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	took /= time.Duration(min(workers, runtime.NumCPU()))
	c.progress.Clear()
	fmt.Fprintf(p.Err, "%s, %s: some %v\n", cli.Number(len(jobs), "scenario"), cli.Number(runs, "run"),
		max(took.Round(5*time.Second), 5*time.Second))
}

// defaultRunTime measures how long a rig's default run takes on this computer.
func defaultRunTime(r *rig.Rig) time.Duration {
	least := time.Hour
	for range 3 { // the first run warms up
		began := time.Now()
		r.Run(new(sched.Default))
		least = min(least, time.Since(began))
	}
	return least
}

// smallFirst runs all serial programs of a few calls before a tour with a kernel's own engine.
func (c *Explore) smallFirst(p *cli.Program) error {
	kernel, err := c.Kernel.Open()
	if err != nil || kernel == nil || len(c.Scenarios) > 0 || c.Small == 0 || c.share > 1 {
		return err
	}
	s := &small.Session{Kernel: kernel, Mutant: c.Mutant, Calls: c.Small, Asked: verb.Asked(c.Small),
		Workers: c.Workers, Cancelled: &c.stop}
	r := &verb.Report{Traces: c.Traces, JSON: c.JSON, Calls: s.Calls, Asked: s.Asked, Line: func(file string) string {
		words := []string{"run", file}
		if c.Mutant != "" {
			words = append(words, "--mutant", c.Mutant)
		}
		return c.Kernel.Line(words...)
	}}
	return r.Run(p, s)
}
