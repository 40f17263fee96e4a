package harness

import (
	"fmt"

	"kpsim/smp"
)

// noEnd says why a run didn't come to its end.
func (r *Rig) noEnd(run Run) string {
	why := r.Kernel.Standstill(r.Machine.CellName)
	if run.Outcome == smp.Exhausted {
		cpu, task, place := r.Machine.Last()
		s := fmt.Sprintf("the run ended exhausted after %d boundaries, cpu%d %s at %s: somebody goes round in circles, or the scenario wants machine(steps = %d)",
			run.Counts.Boundaries, cpu, task, place, r.more())
		if why != "" {
			s += "; " + why
		}
		return s
	}
	return "the run ended stuck; " + why
}
