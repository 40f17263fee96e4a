package run

import (
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/x86"
)

// A Memory is a memory model: which orders of data accesses a test may see.
type Memory string

// The memory models.
const (
	SC   Memory = "sc"   // each access takes effect when it is stepped
	TSO  Memory = "tso"  // stores wait in a buffer of their CPU
	LKMM Memory = "lkmm" // the kernel's memory model, of tests in C
)

// config is a machine under the model.
func (m Memory) config(cpus int) smp.Config {
	c := smp.Config{Arch: x86.AMD64, CPUs: cpus, Budget: budget}
	switch m {
	case TSO:
		c.Memory = smp.TSO
	case LKMM:
		c.Memory = smp.LKMM
	}
	return c
}

// holding is a strategy of which each run holds stores, where memory can: a run without
// is one in which each takes effect at once.
type holding struct{ sched.Strategy }

// Choose implements sim.Chooser.
func (h holding) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return 1, 0
	}
	return h.Strategy.Choose(p)
}
