package findings

import (
	"bytes"
	"strings"
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/traces"
	"kpsim/traces/view"
)

// On a terminal of 80 columns no line of the table is longer, its columns stand
// below each other, and nothing is left out; elsewhere a row is a line.
func TestNarrowTerminal(t *testing.T) {
	var jobs []*job
	for _, sc := range library.All() {
		jobs = append(jobs, &job{Input: &inputs.Input{Scenario: sc, Arg: sc.Name}, runs: 250_000, usual: 250_000})
	}
	expected, against, path, n := true, false, "traces/second-instruction-preempted.kps", 4
	w := &shrink.Witness{Message: strings.Repeat("word ", 40)}
	w.Property, _ = properties.ByName("no-start-inside")
	w.File = &traces.File{Scenario: "none", Property: w.Property.ID, Message: w.Message} // it can't be played
	first := &explore.First{Seeds: 20, Bound: 25_000, Found: make([]uint64, 12)}
	for i := range first.Found {
		first.Found[i] = uint64(9_000 + i)
	}
	m, low, high := first.Median()
	rows := []*row{
		{
			Scenario: "second-instruction-preempted", Property: "no-start-inside", Observation: inputs.Sometimes,
			Runs: 250_000, Violations: 123_456,
			Expected: &against, Reason: "expected Never", Trace: &path, Deviations: &n, witness: w,
			remarks: remarks{shows: []string{firstLine(first, m, low, high)}},
		},
		{
			Scenario: "full-rcu", Property: everyProperty, Observation: inputs.Never, Runs: 250_000,
			Expected: &expected,
			remarks: remarks{notes: []string{"complete for ≤ 2 deviations", "canary stop-without-sync-core found"},
				shows: coverageLines(&explore.Result{Stats: explore.Stats{
					Sampled: 976, Behaviours: 952, New: explore.Chance{Estimate: 0.973, Low: 0.959, High: 0.9999},
					Seen: make([]string, 25), Unseen: []string{"Image", "Optimized", "Unoptimized", "Unoptimizing"},
					Sources: []explore.SourceAtPlace{{Source: "timer@cpu1", Fired: 70, Visited: 71},
						{Source: "preempt@cpu1", Fired: 1, Visited: 71}},
				}})},
		},
	}
	print := func(width int, colour bool) string {
		var out bytes.Buffer
		p := cli.New(&out, &out)
		p.Width, p.Colour = width, colour
		r := newPrinter(p, &Explore{Strategy: "portfolio", Seed: 1}, jobs)
		for _, row := range rows {
			row.job = jobs[0]
			if err := r.print(row); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	words := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, ",", " ")), " ") }

	wide := print(0, false)
	if got := strings.Count(wide, "\n"); got != 7 {
		t.Errorf("%d lines, want 7:\n%s", got, wide)
	}
	for _, colour := range []bool{false, true} {
		narrow := print(80, colour)
		for line := range strings.Lines(narrow) {
			line = strings.TrimSuffix(line, "\n")
			if n := view.Visible(line); n > 80 && !strings.Contains(line, "replay ") { // a line to type isn't broken
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if !strings.Contains(narrow,
			"\nfull-rcu                      every property      Never\n    0 of 250000 runs, ") {
			t.Errorf("columns aren't below each other:\n%s", narrow)
		}
		if colour {
			continue
		}
		for _, word := range strings.Fields(words(wide)) {
			if !strings.Contains(words(narrow), word) {
				t.Errorf("%q is left out:\n%s", word, narrow)
			}
		}
	}
	t.Logf("\n%s", print(80, false))
}
