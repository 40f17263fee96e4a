package findings

import (
	"time"

	"kpsim/internal/search/results"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli/inputs"
)

// A job is a scenario to explore.
type job struct {
	*inputs.Input
	runs   uint64
	usual  uint64        // the default number of runs if it is named
	points uint64        // questions that the default run asks
	each   time.Duration // duration of the default run on this computer
	digest uint64        // the digest of the default run
	notes  []string      // what the default run has shown
	blind  string        // why the canary can't be found, "" if it may be

	checked uint64            // how many runs were repeated with the same result
	result  *results.Explored // for the result file
	older   []existingTrace   // existing traces at paths where it would have written some
	known   []rig.Known       // what its runs go on after
}
