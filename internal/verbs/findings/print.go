package findings

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/report"
	"kpsim/properties"
	"kpsim/traces"
	"kpsim/traces/view"
)

// A printer prints rows as they come.
type printer struct {
	p                         *cli.Program
	c                         *Explore
	jobs                      []*job
	scenario, property, count int // widths of columns
	runs, checked             uint64
	seen                      string      // the scenario of the last row
	planned                   uint64      // runs
	good, against, open       int         // numbers of scenarios; open: nothing was expected
	as                        *int        // as which the last scenario counts
	few                       int         // rows against expectation that were searched by fewer runs than usual
	small, drawn              uint64      // programs beside the scenarios
	found                     bool        // these show something
	unsaved                   [][2]string // why a file isn't written, and the remedy
}

func newPrinter(p *cli.Program, c *Explore, jobs []*job) *printer {
	r := &printer{p: p, c: c, jobs: jobs, property: len(everyProperty)}
	for _, j := range jobs {
		r.scenario = max(r.scenario, len(j.Name))
		r.count = max(r.count, len(fmt.Sprint(j.runs)))
		spec := c.spec(j)
		r.planned += spec.Own()
	}
	for _, q := range properties.All {
		r.property = max(r.property, len(q.Name))
	}
	return r
}

func (r *printer) print(w *row) error {
	var old []existingTrace // printed once, below the first row of a scenario
	r.tell(w, w.Scenario != r.seen)
	if w.Scenario != r.seen {
		r.runs += w.Runs
		r.seen = w.Scenario
		old = w.job.older
	}
	if w.Expected != nil && !*w.Expected && w.witness == nil { // it was to be found
		if w.job.runs < tourRuns(w.job.usual, library.Effort(w.job.Name)) {
			r.few++
		}
	}
	r.checked += w.SelfChecked
	r.judge(w)
	if w.Unsaved != "" {
		r.unsaved = append(r.unsaved, [2]string{w.Unsaved, w.remedy})
	}
	for _, f := range slices.Concat(w.Further, w.Known) {
		if f.Unsaved != "" && !f.long {
			r.unsaved = append(r.unsaved, [2]string{f.Unsaved, f.remedy})
		}
	}
	if r.c.JSON {
		return r.p.PrintJSON(struct {
			*row
			Older []existingTrace `json:"older_traces,omitempty"`
		}{w, old})
	}
	defer reportExisting(r.p, old)
	inputs.TellShipped(r.p, w.Shipped)
	r.row(w)
	for _, l := range w.shows {
		r.p.Indented(cli.Indent, l)
	}
	against := w.Expected != nil && !*w.Expected
	if w.witness != nil {
		if against || w.Unsaved != "" {
			r.p.Indented(cli.Indent, report.Headline(r.p, w.witness.File))
			printSchedule(r.p, w.witness.Schedule)
		}
		if w.Unsaved != "" {
			r.p.ToType(cli.Number(*w.Deviations, "deviation")+", not saved; to find it again:", w.advice)
		} else {
			r.p.ToType(cli.Number(*w.Deviations, "deviation")+"; to replay:", r.c.Kernel.Line("replay", *w.Trace))
		}
	} else if w.advice != "" {
		r.p.ToType("next:", w.advice)
	}
	r.further(w)
	return nil
}

// row prints a row's line. On a narrow terminal it prints the columns that are names, and the
// rest below them.
func (r *printer) row(w *row) {
	names := fmt.Sprintf("%-*s  %-*s  %-*s", r.scenario, w.Scenario, r.property, w.Property, len(inputs.Sometimes),
		w.Observation)
	rest := append([]string{r.verdict(w)}, w.notes...)
	line := fmt.Sprintf("%s  %*d of %*d runs  %s", names, r.count, w.Violations, r.count, w.Runs,
		strings.Join(rest, ", "))
	if r.p.Width == 0 || view.Visible(line) <= r.p.Width {
		fmt.Fprintln(r.p.Out, line)
		return
	}
	r.p.Indented("", strings.TrimRight(names, " "))
	r.p.Indented(cli.Indent, fmt.Sprintf("%d of %s, %s", w.Violations, cli.Number(w.Runs, "run"),
		strings.Join(rest, ", ")))
}

// tell counts a row's scenario: against expectation if one of its rows is.
func (r *printer) tell(w *row, another bool) {
	as := &r.against
	switch {
	case w.Expected == nil:
		as = &r.open
	case *w.Expected:
		as = &r.good
	}
	switch {
	case another:
		*as++
		r.as = as
	case as == &r.against && r.as != as:
		*r.as--
		*as++
		r.as = as
	}
}

func (r *printer) verdict(w *row) string {
	switch {
	case w.Expected == nil && w.Reason == r.c.overridden():
		return "nothing expected (" + w.Reason + ")"
	case w.Expected == nil:
		return w.Reason
	case *w.Expected:
		return r.p.Paint(cli.Green, "as expected")
	}
	return r.p.Paint(cli.Red, "AGAINST EXPECTATION") + ": " + w.Reason
}

// total prints the end of the report.
func (r *printer) total() {
	if r.c.JSON || len(r.jobs) < 2 {
		return
	}
	var parts []string
	if r.good > 0 {
		parts = append(parts, fmt.Sprintf("%d as expected", r.good))
	}
	if r.against > 0 {
		parts = append(parts, fmt.Sprintf("%d against expectation", r.against))
	}
	if r.open > 0 {
		parts = append(parts, fmt.Sprintf("%d without expectation", r.open))
	}
	again := ""
	if r.checked > 0 {
		again = "; " + cli.Number(r.checked, "run") + " came out the same again"
	}
	if r.small+r.drawn > 0 {
		again += fmt.Sprintf("; %s and %s", cli.Number(r.small, "small program"), cli.Number(r.drawn, "drawn one"))
		if r.found {
			again += ", not clean"
		} else {
			again += ", clean"
		}
	}
	searched := cli.Number(len(r.jobs), "scenario")
	if n := r.good + r.against + r.open; n < len(r.jobs) {
		searched = fmt.Sprintf("%d of %s", n, searched)
	}
	fmt.Fprintf(r.p.Out, "\n%s, %s: %s%s\n", searched, cli.Number(r.runs, "run"), strings.Join(parts, ", "), again)
	if r.few > 0 {
		r.p.Indented("", fmt.Sprintf("Of those against expectation %d had fewer runs than they get without "+
			"--runs, and fewer may not show what they should.", r.few))
	}
}

// saveResults writes the result file.
func (r *printer) saveResults(jobs []*job) error {
	data, err := r.c.file(jobs).Marshal()
	if err != nil {
		return err
	}
	if err := cli.WriteWhole(string(r.c.Out), data); err != nil {
		r.unsaved = append(r.unsaved, [2]string{cli.Cause(err, string(r.c.Out)), cli.MakeRoom})
	}
	return nil
}

// status reports what could not be saved, and returns the exit status. A result against
// expectation takes precedence over a file that couldn't be written.
func (r *printer) status() int {
	for _, u := range r.unsaved {
		r.p.Unsaved(u[0], u[1])
	}
	switch {
	case r.against > 0, r.found && r.c.overridden() == "":
		return cli.Against
	case len(r.unsaved) > 0:
		return cli.BadInput
	}
	return cli.OK
}

// interrupted ends the report early, with done scenarios explored to the end. What was found is printed already.
func (r *printer) interrupted(done int) {
	if done > 0 {
		r.total()
	}
	r.status()
	fmt.Fprintln(r.p.Err, "kpsim: "+r.interruptedAfter(done, r.runs))
	if r.c.Out != "" {
		fmt.Fprintf(r.p.Err, "kpsim: %s isn't written: a result file is of all runs of its share\n", r.c.Out)
	}
}

// interruptedAfter says how much was done: done scenarios to the end, and runs altogether.
func (r *printer) interruptedAfter(done int, runs uint64) string {
	says := fmt.Sprintf("interrupted; %d of %s were made", runs, cli.Number(r.planned, "run"))
	if len(r.jobs) > 1 {
		says += fmt.Sprintf(", %d of %s explored to the end", done, cli.Number(len(r.jobs), "scenario"))
	}
	if r.small > 0 && done == 0 {
		says += fmt.Sprintf("; %s before them %s", cli.Number(r.small, "small program"),
			map[bool]string{false: "were clean", true: "were not clean"}[r.found])
	}
	return says
}

// linesMost is the largest number of deviations for which a schedule is printed.
const linesMost = 40

// printSchedule prints a schedule that is short enough to be read.
func printSchedule(p *cli.Program, list []traces.Deviation) {
	if len(list) > linesMost {
		return
	}
	for _, l := range scheduleLines(list) {
		p.Indented(cli.Indent+"  ", l)
	}
}

// scheduleLines formats a schedule, one deviation per line.
func scheduleLines(list []traces.Deviation) []string {
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	return lines
}

func (c *Fuzz) print(p *cli.Program, r *fuzzRow, s *inputs.Shipped) error {
	judgeRow(c, p, r)
	if c.JSON {
		r.Shipped = s
		return p.PrintJSON(r)
	}
	inputs.TellShipped(p, s)
	said := brokenBy(r.Broken)
	if said == inputs.Never {
		said = c.Never()
	}
	during := "no kprobe is optimized"
	if r.Optimizing > 0 {
		during = cli.Share(r.During, r.Optimizing) + " optimized during a call"
	}
	name := r.Edition
	if c.brief {
		name = "drawn"
	}
	p.Indented("", fmt.Sprintf("%-10s  %s  %s  %31s  %s", name, cli.Counted(int(r.Programs), 6, "program"),
		cli.Counted(r.Runs, 8, "schedule"), during, said))
	return nil
}

// featureLine returns a line with the number of features shown, and the estimated number of all.
func (c *Fuzz) featureLine() string {
	cov := c.session.Coverage()
	return fmt.Sprintf("%d features shown of some %d, %s; a program more shows a new one with a chance of %.3f. "+
		"Programs are made from %d.", cov.Features, cov.Estimated, c.coverage(), float64(cov.New)/1000, cov.Kept)
}

// brokenBy lists which properties were broken, and by how many schedules.
func brokenBy(broken map[string]uint64) string {
	var names []string
	for _, q := range properties.All {
		if n := broken[q.Name]; n > 0 {
			names = append(names, fmt.Sprintf("%s by %d", q.Name, n))
		}
	}
	if names == nil {
		return inputs.Never
	}
	return inputs.Sometimes + ": " + strings.Join(names, ", ")
}

// print prints one line, and notes about it.
func (c *Verify) print(p *cli.Program, j *job, r *verifyRow) error {
	r.Shipped, r.Claim = c.ShippedAs(j.Machine.Edition), c.claim(j, r)
	if c.JSON {
		return p.PrintJSON(r)
	}
	defer reportExisting(p, r.Older)
	inputs.TellShipped(p, r.Shipped)
	said := r.Certificate
	switch {
	case len(r.Broken) > 0:
		var names []string
		for _, q := range properties.All {
			if n := r.Broken[q.Name]; n > 0 {
				s := fmt.Sprintf("%s by %s", q.Name, cli.Number(n, "schedule"))
				if r.After[q.Name] == n {
					s += " after another"
				}
				names = append(names, s)
			}
		}
		said = inputs.Sometimes + ": " + cli.List(names)
	case said == "":
		said = inputs.Never + " so far, not complete"
	}
	if r.Shipped != nil && len(r.Broken) == 0 {
		said += ", " + inputs.OfThoseKnown
	}
	how := []string{cli.Number(r.Runs, "schedule"), fmt.Sprintf("%d pruned", r.Pruned),
		fmt.Sprintf("depth %d", r.Depth)}
	if r.States > 0 {
		how = append(how, cli.Number(r.States, "state"), fmt.Sprintf("%d merges checked", r.Checked))
	}
	if r.Without != "" {
		how = append(how, r.Without+" schedules unmerged")
	}
	if r.Circles > 0 {
		how = append(how, fmt.Sprintf("%d without an end", r.Circles))
	}
	if r.Cut > 0 {
		how = append(how, fmt.Sprintf("%d out of budget", r.Cut))
	}
	if r.Restarts > 0 {
		how = append(how, fmt.Sprintf("begun anew %s", times(r.Restarts)))
	}
	if r.Filled {
		how = append(how, fmt.Sprintf("%d MB of them, as many as --megabytes says", c.Megabytes))
	}
	if !r.Complete && r.far > 0 {
		how = append(how, fmt.Sprintf("some %d.%04d %% of the schedules that are known so far", r.far/10_000,
			r.far%10_000))
	}
	p.Indented("", fmt.Sprintf("%s  %s  (%s)  %s", r.Scenario, said, strings.Join(how, ", "), c.verdict(p, r)))
	if c.Claim && r.Claim != "" {
		p.Indented(cli.Indent, r.Claim)
	}
	for i, w := range r.witnesses {
		p.Indented(cli.Indent, report.Headline(p, w.File))
		printSchedule(p, w.Schedule)
		what := cli.Number(len(w.Schedule), "deviation")
		if r.paths[i] == "" {
			p.ToType(what+", not saved; to find it again:", c.line(j, c.Deviations))
		} else {
			p.ToType(what+"; to replay:", c.Kernel.Line("replay", r.paths[i]))
		}
	}
	if c.Races {
		for _, o := range r.Racing {
			fmt.Fprintf(p.Out, "    %12d  %s\n", o.Races, o.Object)
		}
	}
	if next := c.advice(j, r); next != "" {
		p.ToType("next:", next)
	}
	return nil
}

func (c *Verify) verdict(p *cli.Program, r *verifyRow) string {
	switch {
	case r.Expected == nil:
		return "nothing expected (" + r.Reason + ")"
	case *r.Expected:
		return p.Paint(cli.Green, "as expected")
	}
	return p.Paint(cli.Red, "AGAINST EXPECTATION") + ": " + r.Reason
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
