package findings

import (
	"slices"
	"strings"

	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/explore"
)

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
