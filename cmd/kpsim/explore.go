package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"kpsim/properties/harness"
	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

type exploreCmd struct {
	Scenarios []string `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios. None: all that are built in."`
	Runs      *uint64  `placeholder:"N" help:"How many runs of each scenario. Default: so many that all built-in ones together take less than a minute."`
	Seed      uint64   `default:"1" help:"What the schedules are drawn from."`
	Strategy  string   `default:"portfolio" placeholder:"NAME" help:"Who decides the schedules: ${strategies}."`
	Workers   int      `placeholder:"N" help:"How many runs are made at once. Default: one a processor. Changes no result."`
	Fetch     string   `placeholder:"MODEL" help:"What a CPU fetches of text that changes: ${fetches}. Instead of the scenario's; nothing is expected then."`
	Mutant    string   `placeholder:"NAME" help:"Break the engine on purpose. Nothing is expected then."`
	Traces    string   `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	SelfCheck bool     `help:"First make sure of the simulator: play 200 runs of each scenario again, on the same machine and on a new one, and compare the digests."`
	JSON      bool     `name:"json" help:"Print one JSON object a line."`

	stop atomic.Bool // the user has had enough
}

// Help implements kong.HelpProvider.
func (*exploreCmd) Help() string {
	return `A line says of a scenario: which property, whether it was broken Never or Sometimes, by how many of how many runs, and whether that is as its author expects. What breaks a property is shrunk to the fewest deviations from the default run and written to traces/NAME.kps.

Examples:

  kpsim explore
  kpsim explore second-instruction torn-jump
  kpsim explore --runs 1000000 --seed 7 mine.star
  kpsim explore --mutant no-sync-1 jump-label-flip
  kpsim explore --strategy deviations --json safe-none

Exit status: 0 all as expected, 1 something against expectation, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

func (c *exploreCmd) run(p *program) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	jobs, err := load(c.Scenarios)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		if err := c.prepare(p, j); err != nil {
			return 0, err
		}
	}
	c.catchInterrupt()
	if err := os.MkdirAll(c.Traces, 0o755); err != nil {
		return 0, fmt.Errorf("--traces: %s; name a folder that can be written to", cause(err, c.Traces))
	}

	r := newReport(p, c, jobs)
	for i, j := range jobs {
		rows, err := c.explore(p, j, fmt.Sprintf("%d/%d %s", i+1, len(jobs), j.Name))
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if err := r.print(row); err != nil {
				return 0, err
			}
		}
		if c.stop.Load() {
			r.interrupted(i)
			return exitInterrupted, nil
		}
	}
	r.total()
	if r.against > 0 {
		return exitAgainst, nil
	}
	return exitOK, nil
}

// check checks the flags that kong doesn't.
func (c *exploreCmd) check() error {
	if c.Runs != nil && *c.Runs < 1 {
		return errors.New("--runs: 0 runs show nothing; give at least 1")
	}
	if c.Workers < 0 {
		return fmt.Errorf("--workers: %d is too few; give at least 1, or leave it out for one a processor", c.Workers)
	}
	if c.Traces == "" {
		return errors.New("--traces: the name is empty; name a folder")
	}
	if _, err := sched.New(c.Strategy, sched.Params{}); err != nil {
		return fmt.Errorf("--strategy: %w", err)
	}
	if err := new(scenario.Scenario).SetFetch(c.Fetch); c.Fetch != "" && err != nil {
		return fmt.Errorf("--fetch: %w", err)
	}
	if _, ok := mutant.ByName(c.Mutant); c.Mutant != "" && !ok {
		return fmt.Errorf("--mutant: no mutant is called %q; there are %s", c.Mutant, list(mutant.Names()))
	}
	return nil
}

// catchInterrupt ends the exploration at the first ^C, and leaves the second
// to the system.
func (c *exploreCmd) catchInterrupt() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt)
	go func() {
		<-ch
		c.stop.Store(true)
		signal.Stop(ch)
	}()
}

// prepare runs the default schedule once: that shows whether the scenario can
// be run, and how long its runs are.
func (c *exploreCmd) prepare(p *program, j *job) error {
	c.doing(p, j, c.Mutant)
	if c.Fetch != "" {
		if err := j.SetFetch(c.Fetch); err != nil {
			return err
		}
	}
	rig, err := harness.New(j.Scenario, c.Mutant)
	if err != nil {
		return fileFirst(j, err)
	}
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	if run.Outcome == smp.Refused {
		return fileFirst(j, fmt.Errorf("%s: %w", j.Name, run.Err))
	}
	if j.runs = defaultRuns(run.Counts.Points); c.Runs != nil {
		j.runs = *c.Runs
	}
	if c.SelfCheck {
		spec := harness.Spec{Scenario: j.Scenario, Mutant: c.Mutant, Strategy: c.Strategy, Runs: min(j.runs, selfChecked), Seed: c.Seed}
		if j.checked, err = harness.SelfCheck(spec); err != nil {
			return fileFirst(j, err)
		}
	}
	return nil
}

// fileFirst makes an error of the harness begin with the file's name.
func fileFirst(j *job, err error) error {
	if j.arg == j.Name {
		return err
	}
	return fmt.Errorf("%s: %w", j.arg, err)
}

// selfChecked is how many runs of a scenario --self-check plays again.
const selfChecked = 200

// What a scenario is given without --runs.
const (
	defaultPoints  = 24_000_000 // questions: about two seconds on two cores
	defaultRunsMin = 1_000
	defaultRunsMax = 250_000
)

// defaultRuns is how many runs a scenario is given without --runs, by how many
// questions its default run asks. What a run costs goes with its questions (some
// six million a second on a core), so that each scenario takes about as long as
// any other, and all built-in ones together less than a minute. It depends on
// nothing else, so that two computers make the same runs.
func defaultRuns(points uint64) uint64 {
	n := uint64(defaultPoints) / max(points, 1)
	return min(max(n/1000*1000, defaultRunsMin), defaultRunsMax)
}

// doing notes what is being run, for the report of a bug.
func (c *exploreCmd) doing(p *program, j *job, mutant string) {
	p.doing = fmt.Sprintf("scenario %s, strategy %s, seed %d", j.Name, c.Strategy, c.Seed)
	if mutant != "" {
		p.doing += ", mutant " + mutant
	}
	words := []string{typed(), "explore", j.arg, "--workers", "1"}
	for _, f := range []struct{ flag, value, unless string }{
		{"--strategy", c.Strategy, "portfolio"}, {"--seed", fmt.Sprint(c.Seed), "1"},
		{"--fetch", c.Fetch, ""}, {"--mutant", mutant, ""}, {"--runs", fmt.Sprint(j.runs), "0"},
	} {
		if f.value != f.unless {
			words = append(words, f.flag, f.value)
		}
	}
	p.again = shell(words...)
}

// overridden says why nothing is expected, "" if something is.
func (c *exploreCmd) overridden() string {
	switch {
	case c.Mutant != "" && c.Fetch != "":
		return fmt.Sprintf("mutant %s, fetch %s", c.Mutant, c.Fetch)
	case c.Mutant != "":
		return "mutant " + c.Mutant
	case c.Fetch != "":
		return "fetch " + c.Fetch
	}
	return ""
}

// explore explores one scenario, and its canary if nothing was found.
func (c *exploreCmd) explore(p *program, j *job, what string) ([]*row, error) {
	spec := harness.Spec{
		Scenario: j.Scenario, Mutant: c.Mutant, Strategy: c.Strategy, Runs: j.runs, Seed: c.Seed, Workers: c.Workers,
		Cancelled: &c.stop,
	}
	start := time.Now()
	res, err := c.once(p, j, spec, what)
	if err != nil || res == nil {
		return nil, err
	}
	took := time.Since(start)

	var canary bool
	if e := &j.Expect; !e.Sometimes && e.Canary != "" && c.overridden() == "" && res.Violations == 0 && !c.stop.Load() {
		spec.Mutant, spec.Stop, spec.Blind = e.Canary, true, true
		found, err := c.once(p, j, spec, what+", canary "+e.Canary)
		if err != nil {
			return nil, err
		}
		canary = found != nil && found.Violations > 0
	}

	rows := c.judge(j, res, canary)
	saved := 0
	for _, r := range rows {
		r.Rate = uint64(float64(res.Runs) / max(took.Seconds(), 1e-6))
		if r.witness == nil {
			continue
		}
		name := traceName(j.Name)
		if saved++; saved > 1 {
			name += "-" + r.Property
		}
		r.setTrace(filepath.Join(c.Traces, name+".kps"))
		if err := writeWhole(*r.Trace, r.witness.File.Marshal()); err != nil {
			return nil, fmt.Errorf("%s; name another folder with --traces", cause(err, *r.Trace))
		}
	}
	return rows, nil
}

// once explores under a spec. The result is nil if it was interrupted before
// the first run.
func (c *exploreCmd) once(p *program, j *job, spec harness.Spec, what string) (*harness.Result, error) {
	c.doing(p, j, spec.Mutant)
	line := p.watch(what, spec.Runs)
	defer line.clear()
	spec.Progress = line.update
	res, err := harness.Explore(spec)
	if err != nil {
		if c.stop.Load() {
			return nil, nil
		}
		return nil, fileFirst(j, err)
	}
	return res, nil
}

// witnessOf returns the witness against a property, nil if there is none.
func witnessOf(res *harness.Result, property string) *harness.Witness {
	for _, w := range res.Witnesses {
		if w.Property.Name == property {
			return w
		}
	}
	return nil
}

// scheduleLines prints a schedule, one deviation a line.
func scheduleLines(list []traces.Deviation) []string {
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	return lines
}
