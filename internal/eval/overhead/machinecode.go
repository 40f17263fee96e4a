package overhead

import "kpsim/smp/cycles"

// A MachineCode counts the code that CPUs have executed of a kernel, and the functions done in its place, for a hit
// or a call.
type MachineCode struct {
	Instructions int `json:"instructions"` // counted
	Exceptions   int `json:"exceptions"`   // delivered: their entry and exit isn't executed
	Steps        int `json:"single_steps"` // of those, debug exceptions
	Handlers     int `json:"handlers"`     // calls of probes' handlers, which aren't executed
	Services     int `json:"services"`     // calls of functions that are done in Go
	Served       int `json:"service_instructions"`
	Locked       int `json:"locked"`      // read-modify-writes
	Mispredicted int `json:"mispredicts"` // returns that go elsewhere than to after the call
	Flags        int `json:"popf"`
	Switched     int `json:"cli_sti"`
	Blocks       int `json:"block_copies"` // rep movs, rep stos
}

// Price returns the cycles of machine code on a machine, by the mechanistic costs: the counted instructions, and the
// model's costs for everything that isn't executed. Exceptions don't use an IST stack, as breakpoints don't since
// Linux 4.16.
func (o *Model) Price(m *Machine, c *MachineCode) float64 {
	core := o.Cores[m.core]
	instructions := float64(c.Instructions+c.Served) + float64(c.Exceptions)*m.code.entry +
		float64(c.Handlers)*m.code.handler
	return float64(c.Exceptions)*core.Exception + float64(c.Steps)*core.Step + core.Instruction*instructions +
		float64(c.Locked)*m.lock + float64(c.Mispredicted)*m.mispredict + float64(c.Blocks)*m.block +
		float64(c.Flags)*m.detour + float64(c.Switched)*max(0, m.flags-m.detour)
}

// Instructions returns the number of instructions of a hit of kpsim's own engine on a machine, by the model: those of
// the kernel's code that it reimplements.
func (m *Machine) Instructions(h *Hit) (n float64) {
	for e, times := range h.Events {
		n += times * m.code.instructions(cycles.Event(e))
	}
	return n
}
