package findings

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/rules"
)

// mostProbes is the largest number of probes that get a line each; --json has all.
const mostProbes = 12

// throughFtrace is the reason why a probe at a site of ftrace isn't optimized.
var throughFtrace = rules.Reason{Kind: rules.ViaFtrace}.In("")

// A probeRow is the result for a probe, as --json prints it.
type probeRow struct {
	Name  string `json:"name"`
	Place string `json:"place"`
	rig.Probed
	Why string `json:"never_optimized,omitempty"` // the rule by which no schedule turns it into a jump

	silent bool // it has no handler to run
}

// probeRows returns for each probe in how many runs it was hit, optimized and disarmed.
func probeRows(s *scenario.Scenario, probed []rig.Probed) (rows []probeRow) {
	var jumps *vet.Jumps
	for i := range min(len(probed), len(s.Probes)) {
		k := &s.Probes[i]
		r := probeRow{Name: k.Name, Place: s.PlaceName(k), Probed: probed[i], silent: inputs.Silent(k)}
		if r.OptimizedIn == 0 && r.Registered {
			if jumps == nil {
				jumps = vet.NewJumps(s)
			}
			r.Why = jumps.Why(k)
		}
		rows = append(rows, r)
	}
	return rows
}

// probeLines prints rows, one line each, except those that were never registered.
func probeLines(rows []probeRow, runs uint64) (lines []string) {
	more := 0
	for _, r := range rows {
		switch {
		case !r.Registered:
			continue
		case len(lines) == mostProbes:
			more++
			continue
		}
		jump := "optimized in " + share(r.OptimizedIn, runs)
		if r.Why != "" {
			jump = "never optimized (" + r.Why + ")"
		}
		hit := "hit in " + share(r.HitIn, runs) + " of the runs"
		if r.silent {
			hit = "has no handler"
		}
		line := fmt.Sprintf("%s at %s: %s, %s", r.Name, r.Place, hit, jump)
		if r.Why != throughFtrace { // ftrace disarms it, and writes no byte of the probe
			line += ", disarmed in " + share(r.DisarmedIn, runs)
		}
		lines = append(lines, line)
	}
	if more > 0 {
		lines = append(lines, cli.Number(more, "more probe")+": --json tells of each")
	}
	return lines
}

// share prints a number of runs as a percentage.
func share(n, of uint64) string { return cli.Tenths(float64(n)/float64(max(of, 1))) + " %" }

// idle lists, a line each, what parts of a scenario no run of an exploration has used. Some
// built-in scenarios have such parts on purpose.
func idle(j *job, res *explore.Result) []string {
	if j.Builtin() || res.Census.Registered == 0 && j.Expect.Canary == "" {
		return nil
	}
	lines := j.NeverHit(res.Probed,
		"other arguments, a task that goes on calling it (repeat = 10) or more --runs may help")
	for _, s := range res.Stats.Sources {
		if s.Visited == 0 {
			if slices.ContainsFunc(j.notes, func(l string) bool { return strings.HasPrefix(l, s.Source+" ") }) {
				continue // it was printed before the search
			}
			why := "nobody ran on its CPU; give it one that a task has"
			if strings.HasPrefix(s.Source, "preempt@") {
				why = "nobody was there to run instead; have a second task on its CPU"
			}
			if j.Scenario.Machine.NoHZ && strings.HasPrefix(s.Source, "timer@") {
				why = "its CPU idled, and nohz = True takes the tick from one that does; give it one that a task has"
			}
			lines = append(lines, s.Source+" never came: "+why)
		}
	}
	return append(lines, vet.Unflipped(j.Scenario)...)
}
