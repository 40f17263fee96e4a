package smp

// A machine's own state is no kernel's: the rule isn't for this package.
type machine struct{ clock int }

func (m *machine) tick() { m.clock++ }
