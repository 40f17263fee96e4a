package inputs

import (
	"errors"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
)

// Broken holds the flags that introduce faults.
type Broken struct {
	AsShipped bool   `name:"as-shipped" help:"Bring back the faults that we know the kernels of the scenario's edition to have had, and list them: others may be missing. Nothing is expected then."`
	Mutant    string `placeholder:"NAME" help:"Break the engine on purpose; kpsim list has the names. Nothing is expected then."`
}

// Check replaces --as-shipped by its mutant, and returns an error if the mutant doesn't exist.
func (f *Broken) Check() error {
	if f.AsShipped {
		if f.Mutant != "" && f.Mutant != mutants.AsShipped {
			return errors.New("--as-shipped: it is a mutant by itself; leave --mutant out")
		}
		f.Mutant = mutants.AsShipped
	}
	if f.Mutant == mutants.AsShipped {
		return nil
	}
	if OfMachineCode(f.Mutant) {
		return nil
	}
	return cli.Optional("--mutant", "mutant", f.Mutant, mutants.Known())
}

// OfMachineCode reports whether a mutant's name has the form of a mutant of machine code
// (linux/mutate). Whether it exists depends on the kernel.
func OfMachineCode(mutant string) bool { return strings.Contains(mutant, ":") }
