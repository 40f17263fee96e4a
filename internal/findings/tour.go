package findings

import (
	"fmt"
	"runtime"
	"time"

	"kpsim/internal/cli"
	"kpsim/internal/search/rig"
	"kpsim/sched"
)

// What a scenario is given if none is named: a tour of all. tourMargin times the
// schedules after which a search finds the scenario's race in the median, so that one
// in a million searches misses a race that any schedule shows alike; at least a share
// of what it is given by name, for what its statistics say, and at most all of that.
const (
	tourMargin = 20
	tourShare  = 8
)

func tourRuns(usual, effort uint64) uint64 {
	return min(max(tourMargin*effort, usual/tourShare), usual)
}

// drawnTime is how much longer a drawn run is than the default one, with all that a
// search does besides.
const drawnTime = 2

// tellTour says on standard error how long a tour will take.
func (c *Explore) tellTour(p *cli.Program, jobs []*job) {
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
	for range 3 { // the first one warms up
		began := time.Now()
		r.Run(new(sched.Default))
		least = min(least, time.Since(began))
	}
	return least
}
