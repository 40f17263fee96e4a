package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/report"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sim"
)

// A fuzzFind is what is printed of a property that was broken.
type fuzzFind struct {
	Property   string   `json:"property"`
	Program    string   `json:"program"`
	Message    string   `json:"message"`
	Deviations int      `json:"deviations"`
	Like       []string `json:"like,omitempty"` // known finds of kernels that it looks like
	Trace      string   `json:"trace,omitempty"`
	Unsaved    string   `json:"unsaved,omitempty"` // why there is no trace
	Recipe     string   `json:"recipe"`
}

// witness shrinks what a program has found of a property; nil if it hasn't found that.
func (c *Fuzz) witness(p *cli.Program, one *fuzz.Program, q *properties.Property) (*shrink.Witness, error) {
	spec, err := c.session.Explore(&one.Recipe, one.First[q.Name]+1)
	if err != nil {
		return nil, err
	}
	p.Again = c.line(&one.Recipe, one.Runs)
	res, err := explore.Run(spec)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(res.Witnesses, func(w *shrink.Witness) bool { return w.Property == q })
	if i < 0 {
		return nil, nil
	}
	return res.Witnesses[i], nil
}

// tell shrinks what a program has found of a property, saves it and prints how to replay it.
func (c *Fuzz) tell(p *cli.Program, one *fuzz.Program, q *properties.Property) error {
	w, err := c.shrunk[q.Name], error(nil)
	if w == nil {
		if w, err = c.witness(p, one, q); err != nil {
			return err
		}
		if w == nil {
			sim.Bug("%s breaks %s in run %d, and not when it is run again: %s", one.Recipe.Marshal(), q.Name, one.First[q.Name], c.line(&one.Recipe, one.Runs))
		}
	}
	sc, _, err := c.session.Scenario(&one.Recipe)
	if err != nil {
		return err
	}
	name := filepath.Join(c.Traces, inputs.TraceName(q.ID+"-"+sc.Name))
	find := fuzzFind{Property: q.Name, Program: sc.Name, Message: w.Message, Deviations: len(w.Schedule), Trace: name + ".kps", Recipe: name + ".recipe"}
	if c.session.Kernel != nil {
		if find.Like, err = fuzz.LooksLike(c.session.Kernel, q, w.File); err != nil {
			return err
		}
	}
	if err := cli.WriteWhole(find.Recipe, one.Recipe.Marshal()); err != nil {
		return fmt.Errorf("%s; to find it again: %s", cli.Cause(err, find.Recipe), c.line(&one.Recipe, one.Runs))
	}
	if _, err := inputs.WriteTrace(find.Trace, w.File); errors.As(err, new(*inputs.Unreadable)) {
		find.Trace, find.Unsaved = "", err.Error()
		c.unsaved++
	} else if err != nil {
		return fmt.Errorf("%s; to find it again: %s", cli.Cause(err, find.Trace), c.line(&one.Recipe, one.Runs))
	}
	c.finds = append(c.finds, find)
	if c.JSON {
		return p.PrintJSON(find)
	}
	if _, err := fmt.Fprintf(p.Out, "%s breaks %s: %s\n", find.Program, q.Name, w.Message); err != nil {
		return err
	}
	p.Indented(cli.Indent, report.Headline(p, w.File))
	if find.Like != nil {
		p.Indented(cli.Indent, "looks like "+strings.Join(find.Like, " or ")+" (docs/findings.md)")
	}
	tellSchedule(p, w.Schedule)
	if find.Unsaved != "" {
		p.Indented(cli.Indent, find.Unsaved)
		p.ToType("to find it with fewer:", c.again(find.Recipe))
		return nil
	}
	p.ToType(cli.Number(len(w.Schedule), "deviation")+"; to replay:", cli.Line(append([]string{cli.Typed(), "replay", find.Trace}, c.Kernel.Words()...)...))
	return nil
}

// fewerRuns is how many runs look for a run of fewer deviations.
const fewerRuns = 3000

// again is the command that looks in a find's program for runs of fewer deviations.
func (c *Fuzz) again(recipe string) string {
	words := []string{cli.Typed(), "fuzz", "--recipe", recipe, "--runs", fmt.Sprint(fewerRuns), "--strategy", inputs.Few}
	for _, f := range []struct{ flag, value string }{{"--edition", c.Edition}, {"--preempt", c.Preempt}, {"--memory", c.Memory}, {"--mutant", c.Mutant}} {
		if f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	return cli.Line(append(words, c.Kernel.Words()...)...)
}
