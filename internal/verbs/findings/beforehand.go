package findings

import (
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
)

// The findings of the default run are printed before the search. A probe that is refused in it
// is refused in all runs, and where nothing is optimized no search finds what breaks the
// optimizer. Nothing is printed for built-in scenarios, because some are made to be like that.

// beforehand prints what the default run has shown, one line each, on standard error. The
// error says why a search would show nothing.
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
		return nil // they are reported as idle
	}
	for _, f := range list {
		fmt.Fprintf(p.Err, "kpsim: %v\n", j.FileFirst(f))
	}
	return nil
}
