package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/report"
)

// A fuzzFind is the printed result for a cause by which a property was broken.
type fuzzFind struct {
	Property   string   `json:"property"`
	Program    string   `json:"program"`
	Message    string   `json:"message"`
	Deviations int      `json:"deviations"`
	Like       []string `json:"like,omitempty"` // known finds in kernels that it resembles
	// Behind are the known finds after which the program's runs went on: without that it isn't seen.
	Behind  []string `json:"behind,omitempty"`
	Trace   string   `json:"trace,omitempty"`
	Unsaved string   `json:"unsaved,omitempty"` // why there is no trace
	Recipe  string   `json:"recipe"`
}

// save saves a program that is the first to show a cause, and prints how to replay it.
func (c *Fuzz) save(p *cli.Program, l *look) (*fuzzFind, error) {
	w, one := l.w, l.one
	name := filepath.Join(c.Traces, inputs.TraceName(w.Property.ID+"-"+l.name))
	for n := 2; slices.ContainsFunc(c.causes.all,
		func(f *fuzzCause) bool { return f.find.Recipe == name+recipeFile }); n++ {
		name = filepath.Join(c.Traces, inputs.TraceName(fmt.Sprintf("%s-%s-%d", w.Property.ID, l.name, n)))
	}
	find := &fuzzFind{
		Property: w.Property.Name, Program: l.name, Message: w.Message, Deviations: len(w.Schedule),
		Like: l.cause.Like, Behind: l.past,
		Trace: name + ".kps", Recipe: name + recipeFile,
	}
	if err := cli.WriteWhole(find.Recipe, one.Recipe.Marshal()); err != nil {
		return nil, fmt.Errorf("%s; to find it again: %s", cli.Cause(err, find.Recipe), c.line(&one.Recipe, one.Runs))
	}
	if _, err := inputs.WriteTrace(find.Trace, w.File); errors.As(err, new(*inputs.Unreadable)) {
		find.Trace, find.Unsaved = "", err.Error()
		c.unsaved++
	} else if err != nil {
		return nil, fmt.Errorf("%s; to find it again: %s", cli.Cause(err, find.Trace), c.line(&one.Recipe, one.Runs))
	}
	judgeFind(c, p, find, w.File)
	if c.JSON {
		return find, p.PrintJSON(find)
	}
	if _, err := fmt.Fprintf(p.Out, "%s breaks %s: %s\n", find.Program, find.Property, w.Message); err != nil {
		return nil, err
	}
	p.Indented(cli.Indent, report.Headline(p, w.File))
	if find.Behind != nil {
		p.Indented(cli.Indent, "behind "+strings.Join(find.Behind, " and ")+", after which these runs go on")
	}
	if find.Like != nil {
		p.Indented(cli.Indent, "looks like "+c.resemblance(find))
	}
	printSchedule(p, w.Schedule)
	if find.Unsaved != "" {
		p.Indented(cli.Indent, find.Unsaved)
		p.ToType("to find it with fewer:", c.searchCommand(find.Recipe))
		return find, nil
	}
	p.ToType(cli.Number(len(w.Schedule), "deviation")+"; to replay:",
		cli.Line(append([]string{cli.Typed(), "replay", find.Trace}, c.Kernel.Words()...)...))
	return find, nil
}

// resemblance names the known finds that a find resembles, and where they are explained.
func (c *Fuzz) resemblance(f *fuzzFind) string {
	where := " (docs/findings.md)"
	if c.Kernel.Kernel == "" {
		where = " (" + cli.Line(cli.Typed(), "list", "mutants") + ")"
	}
	return strings.Join(f.Like, " or ") + where
}

// fewerRuns is how many runs search for a violation with fewer deviations.
const fewerRuns = 3000

// searchCommand returns the command that searches a find's program for runs with fewer deviations.
func (c *Fuzz) searchCommand(recipe string) string {
	words := cli.WithFlags([]string{cli.Typed(), "fuzz"}, "--recipe", recipe, "--runs", fewerRuns,
		"--strategy", inputs.Few, "--edition", c.Edition, "--preempt", c.Preempt, "--arch", c.Arch,
		"--memory", c.Memory, "--mutant", c.Mutant, "--without", strings.Join(c.Without, ","))
	return cli.Line(append(words, c.Kernel.Words()...)...)
}
