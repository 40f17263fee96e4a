package findings

import (
	"fmt"
	"runtime"
	"time"

	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
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
