package findings

import (
	"fmt"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/rig"
)

// What the default run shows of a scenario is said before the search: a probe that is
// refused is so in all runs, and where nothing is optimized no search finds what breaks the
// optimizer. Of built-in scenarios it isn't said: some are made to be so.

// beforehand says what the default run has shown, a line each on standard error. The error
// says why a search would show nothing.
func (c *Explore) beforehand(p *cli.Program, j *job, probed []rig.Probed) error {
	j.notes = nil
	var list []*scenario.Fault
	if j.Builtin() {
		return nil
	}
	if err := j.RefusedAlways(probed); err != nil {
		return err
	}
	for i := range min(len(probed), len(j.Probes)) {
		k, r := &j.Probes[i], &probed[i]
		if r.Refused && !r.Registered && !j.Wants(k.Name) && len(list) < inputs.MostTold {
			says := fmt.Sprintf("probe %s at %s is refused: %s", k.Name, j.PlaceName(k),
				inputs.Refused(j.Scenario, k, uint64(r.Errno)))
			list = append(list, &scenario.Fault{Part: scenario.PartOf(scenario.TheProbes, i), Msg: says})
		}
	}
	var never []*scenario.Fault
	never, j.blind = j.NeverJumps(c.Mutant)
	list = append(append(list, vet.Inert(j.Scenario)...), never...)
	j.notes = scenario.Messages(list)
	if c.JSON {
		return nil // they are among what is idle
	}
	for _, f := range list {
		fmt.Fprintf(p.Err, "kpsim: %v\n", j.FileFirst(f))
	}
	return nil
}
