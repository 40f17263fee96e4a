package findings

import (
	"fmt"
	"slices"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
)

// everyProperty is the entry in the column of properties.
const everyProperty = "every property"

// A row is the result of an exploration for one property: a line, or a JSON object.
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
	// After counts the violations in runs that had broken another property before.
	After    uint64   `json:"after_another,omitempty"`
	Ignored  []string `json:"ignored,omitempty"` // what the witness breaks earlier, and continues after
	Reason   string   `json:"reason,omitempty"`  // why it isn't as expected, or why nothing was expected
	Complete int      `json:"complete_for_deviations,omitempty"`
	probesSeen
	SelfChecked uint64 `json:"self_checked,omitempty"` // runs that were repeated with the same result
	Unsaved     string `json:"unsaved,omitempty"`      // why there is no trace although there is a witness
	Text        string `json:"trace_text,omitempty"`   // what the trace would hold

	rowWays
	Shipped *inputs.Shipped `json:"as_shipped,omitempty"`
	firstSeen
	Statistics explore.Stats `json:"statistics"`

	job *job
	remarks
	witness *shrink.Witness
}

// probesSeen counts what became of the scenario's probes.
type probesSeen struct {
	Probes     int        `json:"probes,omitempty"` // how many the scenario has; and of how many in some run …
	Registered int        `json:"registered,omitempty"`
	Refused    int        `json:"refused,omitempty"` // … register returned an errno
	Hit        int        `json:"hit,omitempty"`
	Optimized  int        `json:"optimized,omitempty"`
	Each       []probeRow `json:"each_probe,omitempty"` // the result for each probe
	// Idle says why probes were hit in no run, and what else was made and not used.
	Idle []string `json:"idle,omitempty"`
}

// remarks are what only the table has of a row.
type remarks struct {
	notes  []string
	remedy string   // the remedy for Unsaved
	advice string   // the next command to type, if there is no trace to replay
	shows  []string // further text about the scenario for the table, a line each
}

func (r *row) setTrace(path string) {
	n := len(r.witness.Schedule)
	r.Trace, r.Deviations = &path, &n
}

// expect records whether the row is as expected. If it isn't, reason says what was expected.
func (r *row) expect(ok bool, reason string) {
	if r.Expected, r.Reason = &ok, reason; ok {
		r.Reason = ""
	}
}

// ofOwnPatcher reports whether a race is one that a patcher described in the scenario has, whatever the engine.
func (r *row) ofOwnPatcher() bool {
	return r.job.Expect.Sometimes && r.Observation == inputs.Sometimes && r.job.PatchesByHand()
}

// leaveOpen records that nothing is expected of the row, and why.
func (r *row) leaveOpen(why string) { r.Expected, r.Reason, r.advice = nil, why, "" }

// judge makes the rows of an exploration: one for what the scenario expects, and one for each
// other property that was broken.
func (c *Explore) judge(j *job, e *explored, first []explore.First) []*row {
	var rows []*row
	res := e.res
	add := func(property string, ok bool, reason string) *row {
		r := &row{
			Scenario: j.Name, Property: property, Observation: inputs.Never, Runs: res.Runs, Points: res.Counts.Points,
			job:        j,
			Statistics: res.Stats, Rate: uint64(float64(res.Runs) / max(e.took.Seconds(), 1e-6)),
		}
		if n := res.Broken[property]; n > 0 {
			r.Observation, r.Violations, r.witness = inputs.Sometimes, n, witnessOf(res, property)
			r.setFirst(first)
			r.recordFollowers(res.After[property], c.Ignored)
		}
		r.expect(ok, reason)
		rows = append(rows, r)
		return r
	}
	switch x := &j.Expect; {
	case x.Sometimes && slices.Contains(c.Ignored.Names(), x.Property):
		if res.Violations == 0 {
			add(everyProperty, true, "")
		}
	case x.Sometimes:
		r := add(x.Property, res.Broken[x.Property] > 0, "expected "+inputs.Sometimes)
		if r.Observation == inputs.Never && j.NothingProbed(&res.Census) {
			r.recordRefused(res)
		}
	case res.Violations == 0:
		c.judgeNever(add(everyProperty, true, ""), res, e.canary)
	}
	for _, q := range properties.All {
		if res.Broken[q.Name] > 0 && (len(rows) == 0 || rows[0].Property != q.Name) {
			add(q.Name, false, "expected "+inputs.Never)
		}
	}

	for _, r := range rows {
		switch why := c.overridden(); {
		case c.stop.Load() && r.Observation == inputs.Never:
			r.leaveOpen("interrupted")
		case c.shares > 1 && r.Observation == inputs.Never:
			r.leaveOpen(fmt.Sprintf("shard %d of %d", c.share, c.shares))
		case res.Counts.Points == 0:
			r.expect(false, "nothing could interleave: no run had a decision to take; give the scenario a "+
				"second task or timer()")
			r.advice = cli.Line(cli.Typed(), "list") + "   # names scenarios to begin from"
		case why != "" && !(*r.Expected && r.ofOwnPatcher()):
			r.leaveOpen(why)
		case !*r.Expected && r.Observation == inputs.Never && r.advice == "":
			r.advice = c.longerSearch(j, res)
		}
	}
	for _, r := range rows {
		if r.Shipped = c.ShippedAs(j.Machine.Edition); r.Shipped != nil && r.Observation == inputs.Never {
			r.notes = append(r.notes, inputs.OfThoseKnown)
		}
	}
	if rows[0].Observation == inputs.Never {
		rows[0].shows = coverageLines(res)
	}
	c.setSchedule(rows, res)
	rows[0].Each = probeRows(j.Scenario, res.Probed)
	if !j.Builtin() {
		rows[0].shows = append(rows[0].shows, probeLines(rows[0].Each, res.Runs)...)
	}
	rows[0].Idle = idle(j, res)
	rows[0].shows = append(rows[0].shows, rows[0].Idle...)
	rows[0].Idle = append(rows[0].Idle, j.notes...) // which were printed before the search
	n := &res.Census
	for _, r := range rows {
		r.Probes, r.Registered, r.Refused, r.Hit, r.Optimized = n.Probes, n.Registered, n.Refused, n.Hit, n.Optimized
	}
	if n.Refused > 0 {
		rows[0].notes = append(rows[0].notes, fmt.Sprintf("%d of %s refused", n.Refused, cli.Number(n.Probes, "probe")))
	}
	if j.checked > 0 {
		rows[0].SelfChecked = j.checked
		rows[0].notes = append(rows[0].notes, cli.Number(j.checked, "run")+" came out the same again")
	}
	return rows
}

// recordFollowers records how many violations came after the violation of another property.
func (r *row) recordFollowers(after uint64, ignored properties.Set) {
	r.After = after
	if s := inputs.Followed(after, r.Violations, ignored); s != "" {
		r.notes = append(r.notes, s)
	}
	if r.witness == nil {
		return
	}
	for _, p := range r.witness.After {
		r.Ignored = append(r.Ignored, p.Name)
	}
}

// judgeNever records whether a Never can be trusted.
func (c *Explore) judgeNever(r *row, res *explore.Result, canary bool) {
	e := &r.job.Expect
	if res.Complete > 0 && res.Counts.Points > 0 {
		r.Complete = res.Complete
		r.notes = append(r.notes, fmt.Sprintf("complete for ≤ %d deviations", res.Complete))
	}
	switch n := &res.Census; {
	case r.job.NothingPatched() != "":
		r.expect(false, r.job.NothingPatched())
		r.advice = cli.Line(cli.Typed(), "list") + "   # names scenarios to begin from"
	case e.Canary == "" && r.job.NothingProbed(n):
		r.recordRefused(res)
	case e.Canary == "":
		r.notes = append(r.notes, "no canary")
	case canary:
		r.notes = append(r.notes, "canary "+e.Canary+" found")
	case r.job.blind != "":
		r.expect(false, r.job.blind)
		r.advice = r.job.Optimizable()
	default:
		r.expect(false, "canary "+e.Canary+" not found, so the search is blind here")
	}
}

// recordRefused records for a Never that nothing was probed.
func (r *row) recordRefused(res *explore.Result) {
	r.expect(false, fmt.Sprintf("nothing was probed: register was refused, with %s; if that is what you want "+
		"say so, errno = …", r.job.WhyRefused(res.Probed, res.Census.Errno)))
	r.advice = cli.Line(cli.Typed(), "shell", r.job.Arg) + "   # where `register` says what the kernel does"
}

// longerSearch is the line that searches ten times as long.
func (c *Explore) longerSearch(j *job, res *explore.Result) string {
	return cli.Line(cli.Typed(), "explore", j.Arg, "--runs", fmt.Sprint(10*max(res.Runs, 1))) +
		"   # 10 times these runs"
}
