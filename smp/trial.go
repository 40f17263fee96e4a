package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
)

// A trial executes an instruction without effect, to find out which shared memory its
// next execution touches first. It implements arch.Memory: what is stored isn't there,
// so that the instruction gives up.
type trial struct {
	f      *Footprint
	cpu    *CPU
	regs   arch.Regs // of its own
	system system    // likewise
	touch  sim.Touch
}

// of returns the first touch of a CPU's next instruction: of the words that are known to
// be shared. An instruction that reads and then writes one writes it.
func (t *trial) of(c *CPU) sim.Touch {
	in := c.known()
	if in == nil {
		return sim.Touch{}
	}
	t.cpu, t.regs, t.system, t.touch = c, c.regs, c.sys, sim.Touch{}
	in.Exec(&t.regs, t)
	return t.touch
}

// Load implements arch.Memory.
func (t *trial) Load(a arch.Addr, size int) (uint64, bool) {
	fault := t.f.m.mem.fault
	v, ok := t.f.m.mem.Load(a, size)
	t.f.m.mem.fault = fault
	if ok && t.touch.Object == 0 && t.f.words.shared(bytesNumber(a)) {
		t.touch.Object = object(objWord, bytesNumber(a))
	}
	return v, ok
}

// Store implements arch.Memory.
func (t *trial) Store(a arch.Addr, _ int, _ uint64) bool {
	if o := object(objWord, bytesNumber(a)); (t.touch.Object == 0 || t.touch.Object == o) && t.f.words.shared(bytesNumber(a)) {
		t.touch = sim.Touch{Object: o, Write: true}
	}
	return false
}

// System says what the CPU's is, to be changed by the trial only.
func (t *trial) System() *system { return &t.system }
