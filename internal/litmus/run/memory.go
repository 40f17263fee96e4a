package run

import (
	"fmt"

	"kpsim/smp"
)

// A Memory is a memory model: which orders of data accesses a test may see.
type Memory string

// The memory models.
const (
	SC  Memory = "sc"  // each access takes effect when it is stepped
	TSO Memory = "tso" // stores wait in a buffer of their CPU
)

// config is a machine under the model.
func (m Memory) config(cpus int) smp.Config {
	return smp.Config{CPUs: cpus, Budget: budget}
}

// Check returns an error if there is no such model.
func (m Memory) Check() error {
	if m != SC && m != TSO {
		return fmt.Errorf("the memory model %q isn't known; sc and tso are", string(m))
	}
	return nil
}
