package bisect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kpsim/internal/eval/review"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/change"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/traces"
)

// A question is what is asked of each step.
type question struct {
	find    *review.Find
	witness *traces.File // nil: there is none
}

// says returns the question in words.
func (q *question) says() string {
	what := "answers"
	if q.find.Property != "" {
		what = q.find.Property
	}
	if q.find.Says == "" {
		return fmt.Sprintf("%s in %s", what, q.find.Scenario.Name)
	}
	return fmt.Sprintf("%s in %s: %s", what, q.find.Scenario.Name, q.find.Says)
}

// question returns what the bad kernel does and the good one doesn't: what the witness shows, or the first thing that a
// review finds. nil: there is nothing.
func (c *Bisect) question(p *cli.Program, goodKernel, badKernel *linux.Kernel, as *kernels.Kernel) (*question, error) {
	if c.asked != nil {
		return c.ofWitness(goodKernel, badKernel)
	}
	if c.line != nil {
		c.line.Clear()
	}
	find, err := review.FirstFind(p, goodKernel, badKernel, c.reviewOf(as))
	p.StopAtInterrupt(&c.stop)
	if errors.Is(err, context.Canceled) {
		c.stop.Store(true)
	}
	if err != nil || find == nil {
		return nil, err
	}
	q := &question{find: find}
	if find.Property != "" && find.Trace != "" {
		if q.witness, err = inputs.ReadTrace(find.Trace); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readWitness reads the question of --witness, if there is one.
func (c *Bisect) readWitness() error {
	if c.Witness == "" {
		return nil
	}
	file, err := inputs.ReadTrace(string(c.Witness))
	if err != nil {
		return fmt.Errorf("--witness: %w", err)
	}
	property, ok := inputs.PropertyByID(file.Property)
	if !ok {
		return fmt.Errorf("--witness: %s breaks no property that this kpsim knows; give a trace of a violation",
			c.Witness)
	}
	sc, err := lang.ParseFrom(string(c.Witness), []byte(file.Scenario), file.ScenarioLine)
	if err != nil {
		return fmt.Errorf("--witness: %w", err)
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	find := &review.Find{Scenario: sc, Property: property.Name, Says: file.Message, Trace: string(c.Witness)}
	c.asked = &question{find: find, witness: file}
	return nil
}

// ofWitness asks the question of --witness of both ends. With --run nil means that the answer is no.
func (c *Bisect) ofWitness(goodKernel, badKernel *linux.Kernel) (*question, error) {
	is, _, err := c.shows(c.asked, goodKernel, badKernel)
	if err != nil || c.stop.Load() || !is && c.Step {
		return nil, err
	}
	if !is {
		return nil, fmt.Errorf("--witness: the last step doesn't break %s in %s, or the first one does as often, "+
			"in %d runs; give another witness, or more --runs", c.asked.find.Property, c.asked.find.Scenario.Name, c.Runs)
	}
	return c.asked, nil
}

// shows reports whether a step's kernel does what is asked for and the first step's doesn't. w is a witness of that
// kernel, nil if none was made. The error says that the kernel can't run it.
func (c *Bisect) shows(q *question, base, k *linux.Kernel) (yes bool, w *shrink.Witness, err error) {
	if base.ID() == k.ID() {
		return false, nil, nil
	}
	if q.find.Property == "" {
		all, err := change.Programs(base, []*scenario.Scenario{q.find.Scenario}, c.Workers, &c.stop)
		if err != nil {
			return false, nil, err
		}
		differ, _, err := change.Changed(all, k, "", c.Workers, &c.stop)
		return len(differ) > 0, nil, err
	}
	s := &change.Search{Scenario: q.find.Scenario, Base: base, Kernel: k, Runs: c.Runs, Seed: c.Seed,
		Workers:   c.Workers,
		Cancelled: &c.stop}
	found, err := s.Run()
	if err != nil {
		return false, nil, err
	}
	i := slices.IndexFunc(found.Worse, func(b change.Break) bool { return b.Property == q.find.Property })
	if i >= 0 {
		return true, found.Worse[i].Witness, nil
	}
	if q.witness == nil || !change.Plays(q.find.Scenario, k, q.witness) || change.Plays(q.find.Scenario, base,
		q.witness) {
		return false, nil, nil
	}
	return true, nil, nil
}
