package scenario

import (
	"errors"

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
	return o, memoryDone(o)
}

// memoryDone says of a memory model that it isn't done.
func memoryDone(o smp.Ordering) error {
	if o == smp.LKMM {
		return errors.New(`memory = "lkmm" isn't done here yet; say "sc" or "tso"`)
	}
	return nil
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
func (c checker) memoryModel() error {
	m, p := &c.s.Machine, PartOf(TheMachine, 0)
	if m.Memory == smp.LKMM && m.Engine == linux.Row.Name {
		return Faultf(p, "memory = \"lkmm\" is of the cells of an engine in Go; those of engine %q are memory, so say \"sc\" or \"tso\"", m.Engine)
	}
	if err := memoryDone(m.Memory); err != nil {
		return Faultf(p, "%v", err)
	}
	if m.Memory == smp.TSO && m.CPUs > memoryCPUs {
		return Faultf(p, "cpus = %d is out of range under memory = \"tso\"; at most %d CPUs hold stores", m.CPUs, memoryCPUs)
	}
	return nil
}
