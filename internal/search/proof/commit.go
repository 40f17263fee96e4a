package proof

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp"
)

// commit takes that stores to cells have taken effect in a step. What it has read of them
// after that is theirs: where it has read a cell before a store of its own CPU took effect
// that was held, it has read what was held.
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

// committed reports whether a cell is after a step what a store left there that has taken
// effect in it.
func committed(drained []smp.Held, o sim.Object) bool {
	for i := len(drained) - 1; i >= 0; i-- {
		if d := &drained[i]; d.Object == o {
			return !d.Over && d.By != (sim.Hash{})
		}
	}
	return false
}
