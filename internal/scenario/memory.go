package scenario

import (
	"kpsim/internal/nearest"
	"kpsim/linux"
	"kpsim/sim"
	"kpsim/smp"
)

// ParseMemory returns the memory model of a name.
func ParseMemory(name string) (smp.Ordering, error) {
	o, ok := smp.OrderingNamed(name)
	if !ok {
		return 0, nearest.Unknown("memory model", name, smp.Orderings())
	}
	return o, nil
}

// SetMemory makes the machine's memory that of a model, by its name.
func (s *Scenario) SetMemory(name string) (err error) {
	if s.Machine.Memory, err = ParseMemory(name); err != nil {
		return err
	}
	return Check(s)
}

// memoryCPUs is how many CPUs can hold stores: each needs a mover of its own.
const memoryCPUs = int(sim.NoMover - sim.MoverDrain)

// memoryModel checks the model of memory.
func (c checker) memoryModel(p Part) error {
	m := &c.s.Machine
	if m.Memory == smp.LKMM && m.Engine == linux.Row.Name {
		return Faultf(p, "memory = \"lkmm\" is of the cells of an engine in Go; those of engine %q are memory, so say \"sc\" or \"tso\"", m.Engine)
	}
	if m.Memory == smp.TSO && m.CPUs > memoryCPUs {
		return Faultf(p, "cpus = %d is out of range under memory = \"tso\"; at most %d CPUs hold stores", m.CPUs,
			memoryCPUs)
	}
	return nil
}
