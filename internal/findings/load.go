package findings

import (
	"time"

	"kpsim/internal/cli/inputs"
	"kpsim/internal/search/results"
)

// A job is a scenario to explore.
type job struct {
	*inputs.Input
	runs   uint64
	usual  uint64        // how many there are without --runs if it is named
	points uint64        // that the default run asks
	each   time.Duration // that the default run takes here
	digest uint64        // of the default run
	notes  []string      // what that has shown
	blind  string        // why the canary can't be found, "" if it may be

	checked uint64            // how many runs were played again and came out the same
	result  *results.Explored // for the result file
	older   []older           // traces that lie where it would have written some
}
