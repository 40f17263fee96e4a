package main

import (
	"fmt"
	"strings"

	"kpsim/properties"
	"kpsim/traces"
	"kpsim/traces/view"
)

// A report prints rows as they come.
type report struct {
	p                         *program
	c                         *exploreCmd
	jobs                      []*job
	scenario, property, count int // widths of columns
	runs, checked             uint64
	seen                      string // the scenario of the last row
	good, against             int    // rows
	open                      int    // rows that nothing was expected of
	unsaved                   []string
}

func newReport(p *program, c *exploreCmd, jobs []*job) *report {
	r := &report{p: p, c: c, jobs: jobs, property: len(everyProperty)}
	for _, j := range jobs {
		r.scenario = max(r.scenario, len(j.Name))
		r.count = max(r.count, len(fmt.Sprint(j.runs)))
	}
	for _, q := range properties.All {
		r.property = max(r.property, len(q.Name))
	}
	return r
}

func (r *report) print(w *row) error {
	var old []older // told of once, below the first row
	if w.Scenario != r.seen {
		r.runs += w.Runs
		r.seen = w.Scenario
		old = w.job.older
	}
	switch {
	case w.Expected == nil:
		r.open++
	case *w.Expected:
		r.good++
	default:
		r.against++
	}
	r.checked += w.SelfChecked
	if w.Unsaved != "" {
		r.unsaved = append(r.unsaved, w.Unsaved)
	}
	if r.c.JSON {
		return r.p.printJSON(struct {
			*row
			Older []older `json:"older_traces,omitempty"`
		}{w, old})
	}
	defer r.p.tellOlder(old)
	r.p.tellShipped(w.Shipped)
	r.row(w)
	for _, l := range w.shows {
		r.p.indented(indent, l)
	}
	against := w.Expected != nil && !*w.Expected
	if w.witness != nil {
		if against || w.Unsaved != "" {
			r.p.indented(indent, r.p.told(w.witness.File))
			for _, l := range scheduleLines(w.witness.Schedule) {
				r.p.indented(indent+"  ", l)
			}
		}
		if w.Unsaved != "" {
			r.p.toType(number(*w.Deviations, "deviation")+", not saved; to find it again:", w.advice)
		} else {
			r.p.toType(number(*w.Deviations, "deviation")+"; to replay:", shell(typed(), "replay", *w.Trace))
		}
	} else if w.advice != "" {
		r.p.toType("next:", w.advice)
	}
	return nil
}

// toType prints a line to type, on one of its own if the terminal is narrow.
func (p *program) toType(what, line string) { p.next(indent, what, line) }

func (p *program) next(by, what, line string) {
	sep := "  "
	if p.width > 0 && len(by)+view.Visible(what)+len(sep)+view.Visible(line) > p.width {
		sep = "\n" + by + "  "
	}
	fmt.Fprintf(p.out, "%s%s%s%s\n", by, what, sep, line)
}

// row prints the line of a row; on a narrow terminal the columns that are names,
// and below them the rest.
func (r *report) row(w *row) {
	names := fmt.Sprintf("%-*s  %-*s  %-*s", r.scenario, w.Scenario, r.property, w.Property, len(sometimes), w.Observation)
	rest := append([]string{r.verdict(w)}, w.notes...)
	line := fmt.Sprintf("%s  %*d of %*d runs  %s", names, r.count, w.Violations, r.count, w.Runs, strings.Join(rest, ", "))
	if r.p.width == 0 || view.Visible(line) <= r.p.width {
		fmt.Fprintln(r.p.out, line)
		return
	}
	r.p.indented("", strings.TrimRight(names, " "))
	r.p.indented(indent, fmt.Sprintf("%d of %s, %s", w.Violations, number(w.Runs, "run"), strings.Join(rest, ", ")))
}

// indented prints a line below a row, in as many as the terminal needs.
func (p *program) indented(by, s string) {
	for _, l := range view.Fold(s, p.width-len(by)) {
		fmt.Fprintln(p.out, by+l)
	}
}

const indent = "    "

func (r *report) verdict(w *row) string {
	switch {
	case w.Expected == nil && w.Reason == r.c.overridden():
		return "nothing expected (" + w.Reason + ")"
	case w.Expected == nil:
		return w.Reason
	case *w.Expected:
		return r.p.paint(green, "as expected")
	}
	return r.p.paint(red, "AGAINST EXPECTATION") + ": " + w.Reason
}

// finding prints what was broken, where, and how.
func finding(q *properties.Property, place, message string) string {
	s := q.ID + " " + q.Name
	if place != "" {
		s += " at " + place
	}
	return s + ": " + message
}

// total ends the report.
func (r *report) total() {
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
		again = "; " + number(r.checked, "run") + " came out the same again"
	}
	fmt.Fprintf(r.p.out, "\n%s, %s: %s%s\n", number(len(r.jobs), "scenario"), number(r.runs, "run"), strings.Join(parts, ", "), again)
}

// saveResults writes the result file.
func (r *report) saveResults(jobs []*job) error {
	data, err := r.c.results(jobs)
	if err != nil {
		return err
	}
	if err := writeWhole(string(r.c.Out), data); err != nil {
		r.unsaved = append(r.unsaved, cause(err, string(r.c.Out)))
	}
	return nil
}

// unsaved tells of a file that could not be written.
func (p *program) unsaved(why string) {
	fmt.Fprintf(p.err, "kpsim: %s; nothing of it is left there; make room or name another place\n", why)
}

// status tells of what could not be saved, and returns the exit status: what is
// against expectation is more than a file that isn't there.
func (r *report) status() int {
	for _, why := range r.unsaved {
		r.p.unsaved(why)
	}
	switch {
	case r.against > 0:
		return exitAgainst
	case len(r.unsaved) > 0:
		return exitBadInput
	}
	return exitOK
}

// interrupted ends the report early, with done scenarios explored to the end.
func (r *report) interrupted(done int) {
	r.status()
	fmt.Fprintf(r.p.err, "kpsim: interrupted after %d of %s\n", done, number(len(r.jobs), "scenario"))
	if r.c.Out != "" {
		fmt.Fprintf(r.p.err, "kpsim: %s isn't written: a result file is of all runs of its share\n", r.c.Out)
	}
}

// scheduleLines prints a schedule, one deviation a line.
func scheduleLines(list []traces.Deviation) []string {
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	return lines
}

// list prints names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
