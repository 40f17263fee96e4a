package bisect

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
)

// A tested is a bisection under way.
type tested struct {
	c        *Bisect
	p        *cli.Program
	q        *question
	steps    []step
	first    int // number of steps[0] in the series
	base     *linux.Kernel
	verdicts []verdict
	shown    map[int]*shrink.Witness
	as       map[int]kernels.Kernel
	tests    int
}

// The objects of --json, one a line.
type (
	jsonStep struct {
		What    string `json:"what"` // step
		Number  int    `json:"number"`
		Title   string `json:"title"`
		Verdict string `json:"verdict"`
		Why     string `json:"why,omitempty"`
	}
	jsonCulprit struct {
		What     string   `json:"what"` // culprit, nothing
		Of       int      `json:"of"`
		Numbers  []int    `json:"numbers"` // more than one if some can't be tested
		Titles   []string `json:"titles"`
		Places   []string `json:"places"` // file:line
		Tested   int      `json:"tested"`
		Property string   `json:"property,omitempty"`
		Scenario string   `json:"scenario,omitempty"`
		Says     string   `json:"says,omitempty"`
		Trace    string   `json:"trace,omitempty"`
		Objects  []string `json:"objects,omitempty"`
		Explain  string   `json:"explain,omitempty"`
	}
)

// begin prints what is asked.
func (t *tested) begin() {
	t.shown, t.as = make(map[int]*shrink.Witness), make(map[int]kernels.Kernel)
	if !t.c.JSON {
		t.print(fmt.Sprintf("Looking for the first of %s with %s", cli.Number(len(t.steps)-1, "step"), t.q.says()))
	}
}

func (t *tested) print(line string) {
	if t.c.line != nil {
		t.c.line.Clear()
	}
	fmt.Fprintln(t.p.Out, line)
}

// test tests a step.
func (t *tested) test(i int) (verdict, error) {
	s := &t.steps[i]
	if t.c.line != nil {
		t.c.line.At(uint64(t.tests+2), s.title)
	}
	t.p.Doing = s.title
	t.tests++
	v, why, err := t.ask(i)
	if t.c.stop.Load() {
		return untested, errStopped
	}
	if err != nil {
		return untested, err
	}
	t.verdicts[i] = v
	if t.c.JSON {
		return v, t.p.PrintJSON(jsonStep{"step", t.first + i, s.title, v.String(), why})
	}
	line := fmt.Sprintf("  %3d  %-15s  %s", t.first+i, v, s.title)
	if why != "" {
		line += ": " + why
	}
	t.print(line)
	return v, nil
}

var errStopped = errors.New("interrupted")

// ask says whether a step is bad, and why it can't be tested.
func (t *tested) ask(i int) (v verdict, why string, err error) {
	k, as, err := t.c.laid(&t.steps[i])
	if err != nil {
		return untestable, err.Error(), nil //nolint:nilerr // another step may be tested
	}
	t.as[i] = as
	yes, w, err := t.c.shows(t.q, t.base, k)
	switch {
	case err != nil:
		return untestable, err.Error(), nil //nolint:nilerr // as above
	case yes:
		t.shown[i] = w
		return bad, "", nil
	}
	return good, "", nil
}

// end prints the culprit: the first bad step, after the last good one.
func (t *tested) end(from, culprit int) (int, error) {
	j := jsonCulprit{What: "culprit", Of: t.first + len(t.steps) - 1, Tested: t.tests, Property: t.q.find.Property,
		Scenario: t.q.find.Scenario.Name, Says: t.q.find.Says, Places: []string{}}
	for i := from + 1; i <= culprit; i++ {
		j.Numbers, j.Titles = append(j.Numbers, t.first+i), append(j.Titles, t.steps[i].title)
		j.Places = append(j.Places, t.steps[i].changes(&t.steps[i-1])...)
	}
	as, err := t.witness(culprit, &j)
	if err != nil {
		return 0, err
	}
	status := cli.OK
	if len(j.Numbers) > 1 {
		status = cli.Against
	}
	if t.c.JSON {
		return status, t.p.PrintJSON(j)
	}
	switch {
	case len(j.Numbers) == 1:
		t.print(fmt.Sprintf("The first bad one is %d of %d: %s", j.Numbers[0], j.Of, j.Titles[0]))
	default:
		t.print(fmt.Sprintf("One of %d to %d is the first bad one; what is between can't be tested:", j.Numbers[0],
			j.Numbers[len(j.Numbers)-1]))
		for i, n := range j.Numbers {
			t.print(fmt.Sprintf("  %3d  %s", n, j.Titles[i]))
		}
	}
	if len(j.Places) > 0 {
		t.print("  changes " + strings.Join(j.Places, ", "))
	}
	t.print("  " + t.q.says())
	if j.Trace != "" {
		t.print("")
		j.Explain = as.Line(verbOf(j.Property), j.Trace)
		t.p.Next("", "to see it:", j.Explain)
	}
	return status, nil
}

// verbOf returns the verb that shows a file: a trace, or a program that is answered otherwise.
func verbOf(property string) string {
	if property == "" {
		return "compare"
	}
	return "explain"
}

// witness writes the witness of the culprit, and returns the kernel that it is of.
func (t *tested) witness(culprit int, j *jsonCulprit) (as kernels.Kernel, err error) {
	as, ok := t.as[culprit]
	if !ok { // the last step, which the question was asked of
		if _, as, err = t.c.laid(&t.steps[culprit]); err != nil {
			return as, err
		}
	}
	for _, o := range as.Objects {
		j.Objects = append(j.Objects, string(o))
	}
	w := t.shown[culprit]
	if w == nil && t.q.find.Property != "" {
		k, err := as.Open()
		if err != nil {
			return as, err
		}
		if _, w, err = t.c.shows(t.q, t.base, k); err != nil {
			return as, err
		}
	}
	if w == nil {
		if j.Property == "" || culprit == len(t.steps)-1 {
			j.Trace = t.q.find.Trace
		}
	} else {
		if err := cli.MakeFolder(t.c.Traces); err != nil {
			return as, err
		}
		j.Trace = filepath.Join(t.c.Traces, "bisect-"+inputs.TraceName(j.Scenario)+"-"+j.Property+".kps")
		if _, err := inputs.WriteTrace(j.Trace, w.File); err != nil {
			why, remedy := inputs.Unsaved(err, j.Trace)
			return as, fmt.Errorf("%s; %s", why, remedy)
		}
		j.Says = w.Message
	}
	if j.Trace != "" {
		j.Explain = as.Line(verbOf(j.Property), j.Trace)
	}
	return as, nil
}

// nothing reports that the last step does nothing that the first one doesn't.
func (c *Bisect) nothing(p *cli.Program, steps []step, first int) (int, error) {
	if c.line != nil {
		c.line.Clear()
	}
	if c.JSON {
		return cli.Against, p.PrintJSON(jsonCulprit{What: "nothing", Of: first + len(steps) - 1, Numbers: []int{},
			Titles: []string{}, Places: []string{}})
	}
	fmt.Fprintf(p.Out, "Nothing is worse with %s than with %s: no patch is to be found.\n", steps[len(steps)-1].title,
		steps[0].title)
	return cli.Against, nil
}
