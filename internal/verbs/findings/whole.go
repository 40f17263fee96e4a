package findings

import (
	"fmt"
	"time"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
)

// A Plan is an exploration that hasn't been made yet, as data: other computers can make its
// shards.
type Plan struct {
	File    *results.File // its scenarios have no parts yet
	Points  []uint64      // by scenario: the questions that its default run asks
	Canary  []string      // by scenario: the mutant that must be found if nothing else is; "": none
	Written []string      // by scenario: its name as a file's
}

// Plan loads the scenarios and checks everything that can be known before the first is run, as
// Run does. Errors are about the input.
func (c *Explore) Plan(p *cli.Program) (*Plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	jobs, err := c.begin(p, c.Scenarios)
	if err != nil {
		return nil, err
	}
	plan := &Plan{}
	for _, j := range jobs {
		j.result = c.result(j, &explored{res: &explore.Result{}}, nil)
		canary := ""
		if x := &j.Expect; !x.Sometimes && j.blind == "" && c.overridden() == "" {
			canary = x.Canary
		}
		plan.Points, plan.Canary = append(plan.Points, j.points), append(plan.Canary, canary)
		plan.Written = append(plan.Written, inputs.TraceName(j.Name))
	}
	plan.File = c.file(jobs)
	return plan, nil
}

// Report prints what Run would have printed if it had made all runs in the file, and writes
// the same witnesses. The file is a Plan's, with all parts, which the caller has checked
// (results.File.Check). again is the command line that reports it again.
func (c *Explore) Report(p *cli.Program, all *results.File, again string) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	if _, err := c.Kernel.Open(); err != nil {
		return 0, err
	}
	return c.report(p, all, again, func(explore.Spec, int) error { return nil })
}

// Words returns the command as it was typed, without the flags that say where it writes.
func (c *Explore) Words() []string {
	words := cli.WithFlags(append([]string{"explore"}, c.Scenarios...), "--runs", c.Runs,
		"--strategy", cli.Unless(c.Strategy, explore.DefaultStrategy), "--seed", cli.Unless(c.Seed, 1),
		"--fetch", c.Fetch, "--memory", c.Memory, "--edition", c.Edition, "--mutant", c.Mutant,
		"--unbiased", c.Unbiased)
	return append(append(words, c.Kernel.Words()...), c.GoOn.Words()...)
}

// report is Report; where the file comes from may say what is wrong with a scenario's parts.
func (c *Explore) report(p *cli.Program, all *results.File, again string,
	believe func(spec explore.Spec, i int) error) (int, error) {
	c.Strategy, c.Seed, c.Unbiased, c.Broken, c.Fetch, c.Memory, c.Edition = all.Strategy, all.Seed, all.Unbiased,
		inputs.Broken{Mutant: all.Mutant, AsShipped: c.AsShipped}, all.Fetch, all.Memory, all.Edition
	c.GoOn = inputs.GoOn{Ignoring: inputs.Ignoring{Ignore: all.Ignored}, AllProperties: all.Every}
	if err := c.GoOn.Check(); err != nil {
		return 0, err
	}
	var jobs []*job
	var specs []explore.Spec
	for i, e := range all.Scenarios {
		spec, points, err := all.Spec(e)
		if err != nil {
			return 0, err
		}
		if err := spec.Scenario.Expect.CheckNames(inputs.PropertyNames(), mutants.Known()); err != nil {
			return 0, fmt.Errorf("%s: %w; see %s list", e.Name, err, cli.Typed())
		}
		if c.Kernel.Kernel == "" {
			c.release = spec.Scenario.Machine.Release()
		}
		if err := believe(spec, i); err != nil {
			return 0, err
		}
		j := &job{Input: &inputs.Input{Scenario: spec.Scenario, Arg: cli.AsFile(e.Arg), Source: e.Source}, runs: e.Runs,
			points: points, usual: defaultRuns(points), checked: e.Checked}
		c.Kernel.Laid(j.Input)
		if !j.Builtin() {
			var never []*scenario.Fault
			never, j.blind = j.NeverJumps(all.Mutant)
			j.notes = scenario.Messages(append(vet.Inert(j.Scenario), never...))
		}
		jobs = append(jobs, j)
		c.names = append(c.names, j.Name)
		specs = append(specs, spec)
	}
	p.StopAtInterrupt(&c.stop)
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	c.merges, c.progress = true, p.WatchParts("merging", len(jobs), "scenario")
	defer c.progress.Clear()
	r := newPrinter(p, c, jobs)
	for i, j := range jobs {
		c.progress.Part(fmt.Sprintf("%d/%d %s", i+1, len(jobs), j.Name), 1)
		c.doing(p, j, c.Mutant)
		p.Again = again
		e := all.Scenarios[i]
		res, err := explore.Merge(specs[i], e.Parts)
		if err != nil {
			return 0, j.FileFirst(err)
		}
		took := time.Duration(e.Seconds * float64(time.Second))
		if err := c.conclude(p, j, &explored{res: res, canary: e.Canary, took: took}, r); err != nil {
			return 0, err
		}
		if c.stop.Load() {
			r.interrupted(i)
			return cli.Interrupted, nil
		}
	}
	c.progress.Complete()
	r.total()
	return r.status(), nil
}
