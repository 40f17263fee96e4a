package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/sched"
)

// explored is the result of the runs of a scenario.
type explored struct {
	res    *explore.Result
	known  []cause.KnownFind // what the runs went on after
	canary bool              // the canary was found
	took   time.Duration
}

// search explores one scenario, and its canary if nothing was found. It returns
// nil if it was interrupted before the first run.
func (c *Explore) search(p *cli.Program, j *job, what string) (*explored, error) {
	spec := c.spec(j)
	start := time.Now()
	res, err := c.exploreSpec(p, j, spec, what)
	if err != nil || res == nil {
		return nil, err
	}
	e := &explored{res: res, took: time.Since(start)}
	if res.Violations > 0 && c.Kernel.Kernel != "" && c.Out == "" && !c.stop.Load() {
		c.progress.Aside(what + ", behind what is known")
		spec.Progress = c.progress.Update
		base, err := c.Kernel.Unchanged(j.Scenario, c.Mutant)
		if err != nil {
			return nil, err
		}
		if e.res, e.known, err = cause.Behind(spec, base, res); err != nil {
			return nil, j.FileFirst(err)
		}
		for i := range e.known {
			if k := &e.known[i]; !k.Ends && !k.Changed {
				j.known = append(j.known, k.As)
			}
		}
	}

	if x := &j.Expect; !x.Sometimes && x.Canary != "" && j.blind == "" && c.overridden() == "" && res.Violations == 0 &&
		!c.stop.Load() {
		spec.Mutant, spec.Stop, spec.Blind = x.Canary, true, true
		found, err := c.exploreSpec(p, j, spec, what+", canary "+x.Canary)
		if err != nil {
			return nil, err
		}
		e.canary = found != nil && found.Violations > 0
	}
	return e, nil
}

func (c *Explore) spec(j *job) explore.Spec {
	return explore.Spec{
		Scenario: j.Scenario, Mutant: c.Mutant, Strategy: c.Strategy, Runs: j.runs, Seed: c.Seed, Unbiased: c.Unbiased,
		Workers: c.Workers,
		Dealt:   explore.Deal(j.runs, j.points), Share: c.share, Shares: c.shares, Cancelled: &c.stop,
		Ignore: c.Ignored, Past: c.Past(), Known: j.known,
	}
}

// exploreSpec explores under a spec. The result is nil if it was interrupted before
// the first run.
func (c *Explore) exploreSpec(p *cli.Program, j *job, spec explore.Spec, what string) (*explore.Result, error) {
	c.doing(p, j, spec.Mutant)
	if spec.Progress = c.progress.Update; spec.Stop {
		c.progress.Aside(what)
	} else {
		c.made.Store(0)
		c.broke.Store(0)
		spec.Progress = func(runs, violations uint64) {
			c.made.Store(runs)
			c.broke.Store(violations)
			c.progress.Update(runs, violations)
		}
		c.progress.Part(what, spec.Own())
	}
	res, err := explore.Run(spec)
	if err != nil {
		if c.stop.Load() {
			return nil, nil
		}
		return nil, j.FileFirst(err)
	}
	return res, nil
}

// conclude judges an exploration, saves the witnesses, and prints the rows. merge uses it,
// too.
func (c *Explore) conclude(p *cli.Program, j *job, e *explored, r *printer) error {
	first, err := c.measureFirst(j, e.res)
	if err != nil {
		return err
	}
	rows := c.judge(j, e, first)
	if err := c.addFurther(j, e.res, rows); err != nil {
		return err
	}
	addKnown(e, rows)
	c.save(j, rows)
	for _, row := range rows {
		if err := r.print(row); err != nil {
			return err
		}
	}
	if c.Out != "" {
		j.result = c.result(j, e, rows)
	}
	return nil
}

// firstShare limits the runs used to measure how soon a search finds a violation. Each seed
// gets at most this part of the scenario's default runs, so a violation found by one run in a
// thousand doubles the time at worst.
const firstShare = 10

// measureFirst measures how soon each broken property is found. A share of an exploration doesn't
// measure that: merge does. Of a strategy that has no seed setSchedule says it.
func (c *Explore) measureFirst(j *job, res *explore.Result) ([]explore.First, error) {
	if c.shares > 1 || c.stop.Load() || res.Violations == 0 || sched.Seedless(c.Strategy) {
		return nil, nil
	}
	var names []string
	for _, q := range properties.All {
		if res.Broken[q.Name] > 0 {
			names = append(names, q.Name)
		}
	}
	bound := min(j.runs, max(j.usual/firstShare, 1))
	spec := c.spec(j)
	if spec.Progress = c.progress.Update; c.merges {
		most := explore.FirstSeeds * bound
		spec.Progress = func(runs, violations uint64) { c.progress.Of(runs, most, runs, violations) }
	} else {
		c.progress.Aside(j.Name + ", the first witness over seeds")
	}
	return explore.FirstWitness(spec, names, bound)
}

// save writes the witnesses. It prints a witness whole if it can't be saved.
func (c *Explore) save(j *job, rows []*row) {
	saved := 0
	var written []string
	for _, r := range rows {
		if r.witness == nil {
			continue
		}
		name := inputs.TraceName(j.Name)
		if saved++; saved > 1 {
			name += "-" + r.Property
		}
		path := filepath.Join(c.Traces, name+".kps")
		r.setTrace(path)
		j.FoundIn(r.witness.File)
		if text, err := inputs.WriteTrace(path, r.witness.File); err != nil {
			r.Trace, r.Text = nil, string(text)
			r.Unsaved, r.remedy = inputs.Unsaved(err, path)
			r.advice = c.line(j, c.Mutant)
			if errors.As(err, new(*inputs.Unreadable)) {
				r.advice = c.lineBy(inputs.Few, j, c.Mutant)
			}
		}
		written = append(append(written, path), c.saveFurther(j, r.Further, name)...)
	}
	for i, f := range rows[0].Known {
		name := inputs.TraceName(j.Name)
		if saved++; saved > 1 {
			name += "-" + f.Property
		}
		if slices.ContainsFunc(rows[0].Known[:i], func(g *furtherRow) bool { return g.Property == f.Property }) {
			name += fmt.Sprintf("-known%d", i+1)
		}
		written = append(written, c.saveWay(j, f, filepath.Join(c.Traces, name+".kps")))
	}
	j.older = c.existingTraces(j, inputs.TraceName(j.Name), verifyTrace(j.Name), written)
}

// result returns the scenario's part of a result file.
func (c *Explore) result(j *job, e *explored, rows []*row) *results.Explored {
	x := &results.Explored{
		Name: j.Name, Arg: j.Arg, Source: j.Source, Text: lang.Print(j.Scenario), Default: results.DigestName(j.digest),
		Runs:   j.runs,
		Canary: e.canary, Checked: j.checked, Seconds: e.took.Seconds(), Parts: e.res.Parts, Traces: []string{},
	}
	for _, r := range rows {
		if r.witness == nil {
			continue
		}
		if text, err := inputs.TraceText(j.Name, r.witness.File); err == nil {
			x.Traces = append(x.Traces, string(text))
		}
		for _, f := range r.Further {
			if text, err := inputs.TraceText(j.Name, f.cause.Witness.File); err == nil {
				x.Traces = append(x.Traces, string(text))
			}
		}
	}
	return x
}

// file makes a result file of the jobs' results.
func (c *Explore) file(jobs []*job) *results.File {
	r := &results.File{
		Share: max(c.share, 1), Shares: max(c.shares, 1), Strategy: c.Strategy, Seed: c.Seed, Mutant: c.Mutant,
		Fetch: c.Fetch, Memory: c.Memory, Edition: c.Edition,
		Unbiased: c.Unbiased, SelfCheck: uint64(c.SelfCheck), Ignored: c.Ignored.Names(), Every: c.AllProperties,
	}
	if c.Runs != nil {
		r.Runs = *c.Runs
	}
	for _, j := range jobs {
		r.Scenarios = append(r.Scenarios, j.result)
	}
	return r
}

// witnessOf returns the witness against a property, nil if there is none.
func witnessOf(res *explore.Result, property string) *shrink.Witness {
	for _, w := range res.Witnesses {
		if w.Property.Name == property {
			return w
		}
	}
	return nil
}
