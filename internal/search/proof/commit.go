package proof

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp"
)

// commit records that held stores to cells have taken effect in a step. A later read of such a
// cell in the step returns the stored value. A read before its own CPU's held store took
// effect returns the held value.
func (s *states) commit(h *sim.Hash, drained []smp.Held, doing *smp.Doing, mv sim.Mover) {
	cpu := s.r.Machine.Names().CPUOf(mv)
	for i := range drained {
		d := &drained[i]
		if d.By == (sim.Hash{}) {
			continue
		}
		if d.CPU != cpu && slices.ContainsFunc(doing.Reads, func(r smp.Reading) bool { return r.Object == d.Object }) {
			h.AddHash(s.wrote[s.numberOf(d.Object)])
		}
		if !doing.Routine {
			h.AddHash(d.By)
		}
		s.writeBy(d.Object, d.By)
	}
}

// committed reports whether a cell holds, after a step, the value of a store that took effect
// in that step.
func committed(drained []smp.Held, o sim.Object) bool {
	for i := len(drained) - 1; i >= 0; i-- {
		if d := &drained[i]; d.Object == o {
			return !d.Over && d.By != (sim.Hash{})
		}
	}
	return false
}
