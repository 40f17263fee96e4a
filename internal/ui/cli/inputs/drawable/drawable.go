package drawable

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/smp/arch/target"
)

// OptionalEdition is inputs.KnownEdition for --edition, which may be "".
func OptionalEdition(name string) error {
	if name == "" {
		return nil
	}
	if err := inputs.KnownEdition(name, Editions()); err != nil {
		return fmt.Errorf("--edition: %w", err)
	}
	return nil
}

// Editions returns the names of the editions on whose machines programs are drawn.
func Editions() []string {
	return of(func(m *scenario.Machine) string { return m.Edition.String() })
}

// Preempts returns the names of those machines' preemption models.
func Preempts() []string {
	return of(func(m *scenario.Machine) string { return m.Preempt.String() })
}

// Processors returns the names of the processors that programs are drawn for.
func Processors() (names []string) {
	for p, name := range target.Words {
		if target.Processor(p).Serves(target.Drawn) {
			names = append(names, name)
		}
	}
	return names
}

// of returns what the machines have of something, each once.
func of(name func(m *scenario.Machine) string) (list []string) {
	for _, m := range gen.Machines() {
		if n := name(&m); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
