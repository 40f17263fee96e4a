package main

import (
	"fmt"
	"strings"

	"kpsim/properties"
	"kpsim/properties/harness"
)

// The observations, in the words of litmus tests.
const (
	never     = "Never"
	sometimes = "Sometimes"
)

// everyProperty stands in the column of properties.
const everyProperty = "every property"

// A row is what an exploration has shown of one property: a line, or a JSON
// object.
type row struct {
	Scenario    string  `json:"scenario"`
	Property    string  `json:"property"`
	Observation string  `json:"observation"`
	Runs        uint64  `json:"runs"`
	Violations  uint64  `json:"violations"`
	Expected    *bool   `json:"expected"` // null: nothing was expected
	Trace       *string `json:"trace"`    // null: there is no witness
	Deviations  *int    `json:"deviations"`
	Points      uint64  `json:"points"`
	Rate        uint64  `json:"schedules_per_s"`
	Reason      string  `json:"reason,omitempty"` // why it isn't as expected, or nothing was
	Complete    int     `json:"complete_for_deviations,omitempty"`
	Probes      int     `json:"probes,omitempty"` // how many the scenario has; and of how many in some run …
	Registered  int     `json:"registered,omitempty"`
	Refused     int     `json:"refused,omitempty"` // … register returned an errno
	Hit         int     `json:"hit,omitempty"`
	Optimized   int     `json:"optimized,omitempty"`

	job     *job
	notes   []string
	advice  string // the line to type next, if there is no witness
	witness *harness.Witness
}

func (r *row) setTrace(path string) {
	n := len(r.witness.Schedule)
	r.Trace, r.Deviations = &path, &n
}

// expect says whether the row is as expected; if not, reason says what was.
func (r *row) expect(ok bool, reason string) {
	if r.Expected, r.Reason = &ok, reason; ok {
		r.Reason = ""
	}
}

// open says that nothing is expected of the row, and why.
func (r *row) open(why string) { r.Expected, r.Reason, r.advice = nil, why, "" }

// judge makes rows of a result: one for what the scenario expects, and one for
// each other property that was broken. canary says that it was found.
func (c *exploreCmd) judge(j *job, res *harness.Result, canary bool) []*row {
	var rows []*row
	add := func(property string, ok bool, reason string) *row {
		r := &row{Scenario: j.Name, Property: property, Observation: never, Runs: res.Runs, Points: res.Counts.Points, job: j}
		if n := res.Broken[property]; n > 0 {
			r.Observation, r.Violations, r.witness = sometimes, n, witnessOf(res, property)
		}
		r.expect(ok, reason)
		rows = append(rows, r)
		return r
	}
	if e := &j.Expect; e.Sometimes {
		add(e.Property, res.Broken[e.Property] > 0, "expected "+sometimes)
	} else if res.Violations == 0 {
		c.judgeNever(add(everyProperty, true, ""), res, canary)
	}
	for _, q := range properties.All {
		if res.Broken[q.Name] > 0 && (len(rows) == 0 || rows[0].Property != q.Name) {
			add(q.Name, false, "expected "+never)
		}
	}

	for _, r := range rows {
		switch why := c.overridden(); {
		case why != "":
			r.open(why)
		case c.stop.Load() && r.Observation == never:
			r.open("interrupted")
		case !*r.Expected && r.Observation == never && r.advice == "":
			r.advice = c.longer(j, res)
		}
	}
	n := &res.Census
	for _, r := range rows {
		r.Probes, r.Registered, r.Refused, r.Hit, r.Optimized = n.Probes, n.Registered, n.Refused, n.Hit, n.Optimized
	}
	if n.Refused > 0 {
		rows[0].notes = append(rows[0].notes, fmt.Sprintf("%d of %s refused", n.Refused, number(n.Probes, "probe")))
	}
	if j.checked > 0 {
		rows[0].notes = append(rows[0].notes, fmt.Sprintf("%d runs came out the same again", j.checked))
	}
	return rows
}

// judgeNever says whether a Never may be believed.
func (c *exploreCmd) judgeNever(r *row, res *harness.Result, canary bool) {
	e := &r.job.Expect
	if res.Complete > 0 && res.Counts.Points > 0 {
		r.Complete = res.Complete
		r.notes = append(r.notes, fmt.Sprintf("complete for ≤ %d deviations", res.Complete))
	}
	switch {
	case res.Counts.Points == 0:
		r.expect(false, "nothing could interleave: no run had a decision to take; give the scenario a second task or timer()")
		r.advice = shell(typed(), "list") + "   # names scenarios to begin from"
	case e.Canary == "":
		r.notes = append(r.notes, "no canary")
	case canary:
		r.notes = append(r.notes, "canary "+e.Canary+" found")
	default:
		r.expect(false, "canary "+e.Canary+" not found, so the search is blind here")
	}
}

// longer is the line that searches ten times as long.
func (c *exploreCmd) longer(j *job, res *harness.Result) string {
	return shell(typed(), "explore", j.arg, "--runs", fmt.Sprint(10*max(res.Runs, 1)))
}

// A report prints rows as they come.
type report struct {
	p                         *program
	c                         *exploreCmd
	jobs                      []*job
	scenario, property, count int // widths of columns
	runs                      uint64
	seen                      string // the scenario of the last row
	good, against             int    // rows
	open                      int    // rows that nothing was expected of
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
	if w.Scenario != r.seen {
		r.runs += w.Runs
		r.seen = w.Scenario
	}
	switch {
	case w.Expected == nil:
		r.open++
	case *w.Expected:
		r.good++
	default:
		r.against++
	}
	if r.c.JSON {
		return r.p.printJSON(w)
	}

	verdict := r.verdict(w)
	for _, n := range w.notes {
		verdict += ", " + n
	}
	fmt.Fprintf(r.p.out, "%-*s  %-*s  %-*s  %*d of %*d runs  %s\n", r.scenario, w.Scenario, r.property, w.Property,
		len(sometimes), w.Observation, r.count, w.Violations, r.count, w.Runs, verdict)
	against := w.Expected != nil && !*w.Expected
	switch {
	case w.witness != nil:
		if against {
			fmt.Fprintf(r.p.out, "    %s\n", finding(w.witness.Property, w.witness.Place, w.witness.Message))
			for _, l := range scheduleLines(w.witness.Schedule) {
				fmt.Fprintf(r.p.out, "      %s\n", l)
			}
		}
		fmt.Fprintf(r.p.out, "    %s; to replay:  %s\n", number(*w.Deviations, "deviation"), shell(typed(), "replay", *w.Trace))
	case w.advice != "":
		fmt.Fprintf(r.p.out, "    next:  %s\n", w.advice)
	}
	return nil
}

func (r *report) verdict(w *row) string {
	switch {
	case w.Expected == nil && w.Reason == "interrupted":
		return "interrupted"
	case w.Expected == nil:
		return "nothing expected (" + w.Reason + ")"
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
	fmt.Fprintf(r.p.out, "\n%s, %s: %s\n", number(len(r.jobs), "scenario"), number(r.runs, "run"), strings.Join(parts, ", "))
}

// interrupted ends the report early, with done scenarios explored to the end.
func (r *report) interrupted(done int) {
	fmt.Fprintf(r.p.err, "kpsim: interrupted after %d of %s\n", done, number(len(r.jobs), "scenario"))
}

// list prints names in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
