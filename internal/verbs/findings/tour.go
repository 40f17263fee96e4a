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
	tourShare  = 16
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

// plain reports whether kpsim chooses how much a tour does, and nothing in it differs from what scenarios say but the
// edition, the memory model, the engine or its faults.
func (c *Explore) plain() bool {
	return c.Runs == nil && c.Fetch == "" && c.shares == 0 && c.GoOn.Says() == ""
}

// tourParts are the flags that say what a tour has beside scenarios.
type tourParts struct {
	Small *uint64 `range:"0..8" placeholder:"N" help:"If no scenario is named: first run all serial programs of up to N calls, as kpsim small does. 0: none. Default: 4, with --kernel 3; without --kernel none with --runs, --fetch, --ignore, --all-properties and --shard."`
	Drawn *uint64 `range:"0..1000000000" placeholder:"N" help:"If no scenario is named: at the end run N drawn programs, as kpsim fuzz does. 0: none. Default: 4000; none with --kernel, --runs, --fetch, --ignore, --all-properties and --shard."`
}

// tourDrawn is the default of --drawn in a tour: some twenty seconds.
const tourDrawn = 4_000

// tourPart returns how much of a part of a tour is asked for: what the flag says, else the default if it has one.
func (c *Explore) tourPart(flag *uint64, has bool, usual uint64) uint64 {
	switch {
	case len(c.Scenarios) > 0 || c.share > 1:
		return 0
	case flag != nil:
		return *flag
	case has:
		return usual
	}
	return 0
}

// checkTour checks the flags of a tour's parts.
func (c *Explore) checkTour() error {
	for _, f := range []struct {
		name  string
		value *uint64
	}{{"--small", c.Small}, {"--drawn", c.Drawn}} {
		if f.value == nil || *f.value == 0 {
			continue
		}
		switch {
		case len(c.Scenarios) > 0:
			return fmt.Errorf("%s: it is part of a search of all scenarios; leave it out, or %s", f.name,
				cli.List(c.Scenarios))
		case f.name == "--drawn" && (c.Fetch != "" || c.GoOn.Says() != ""):
			return fmt.Errorf("%s: programs are drawn with their fetch models, and end at what they break; leave out "+
				"--fetch, --ignore and --all-properties", f.name)
		}
	}
	return nil
}

// smallFirst runs all serial programs of a few calls before a tour.
func (c *Explore) smallFirst(p *cli.Program, r *printer) error {
	kernel, err := c.Kernel.Open()
	if err != nil {
		return err
	}
	calls := c.tourPart(c.Small, kernel != nil || c.plain(), uint64(small.Calls(kernel != nil)))
	if calls == 0 {
		return nil
	}
	s := &small.Session{Kernel: kernel, Edition: c.Edition, Mutant: c.Mutant, Calls: int(calls), Workers: c.Workers,
		Cancelled: &c.stop}
	if kernel != nil {
		s.Asked = verb.Asked(s.Calls)
	}
	report := &verb.Report{Traces: c.Traces, JSON: c.JSON, Calls: s.Calls, Asked: s.Asked, Brief: kernel == nil,
		Open: c.overridden(),
		Line: func(file string) string {
			words := []string{"run", file}
			if c.Mutant != "" {
				words = append(words, "--mutant", c.Mutant)
			}
			return c.Kernel.Line(words...)
		}}
	if err := report.Run(p, s); err != nil {
		return err
	}
	r.small = report.Programs
	r.found = r.found || report.Unknown > 0
	return nil
}

// within describes what a session is part of.
type within struct {
	command string // the page's command line; "": as it was typed
	brief   bool   // part of a tour: one row for all editions
	open    string // why nothing is expected of its programs; "": nothing may be broken
}

// drawnLast runs drawn programs after a tour, as kpsim fuzz does.
func (c *Explore) drawnLast(p *cli.Program, r *printer) error {
	programs := c.tourPart(c.Drawn, c.Kernel.Kernel == "" && c.plain(), tourDrawn)
	if programs == 0 {
		return nil
	}
	f := &Fuzz{Programs: programs, Each: 3, Seed: c.Seed, Edition: c.Edition, Memory: c.Memory, Workers: c.Workers,
		Kernel: c.Kernel, Broken: c.Broken, Traces: c.Traces, Form: c.Form,
		within: within{brief: true, open: c.overridden()}}
	status, err := f.Run(p)
	if err != nil {
		return err
	}
	r.drawn = f.total.Programs
	r.found = r.found || f.total.Violations > 0 || f.total.Otherwise > 0
	if status == cli.Interrupted {
		c.stop.Store(true)
	}
	return nil
}
