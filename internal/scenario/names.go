package scenario

import (
	"kpsim/internal/nearest"
	"kpsim/smp/fetch"
)

// The words of the language for Needs and ProbeKind (scenario.go), Preempt and Loading
// (machine.go), in the order of their constants. Each new constant needs its word here.
var (
	NeedsWords   = []string{"nothing", "interrupt"}
	PreemptWords = []string{"none", "voluntary", "dynamic", "full", "lazy"}
	ModuleWords  = []string{"unload", "stay", "none"}
)

func (n Needs) String() string   { return nearest.Word(NeedsWords, uint8(n)) }
func (p Preempt) String() string { return nearest.Word(PreemptWords, uint8(p)) }
func (l Loading) String() string { return nearest.Word(ModuleWords, uint8(l)) }

// SetFetch sets the model of instruction fetch by its name.
func (s *Scenario) SetFetch(name string) error {
	m, err := fetch.Parse(name)
	if err == nil {
		s.Machine.Fetch = m
	}
	return err
}
