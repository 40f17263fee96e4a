package extract

import (
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// A trial executes an instruction without effect, right before its CPU does, to find out what
// it loads and stores. It implements arch.Memory: loads see what the CPU sees, and stores
// aren't made.
type trial struct {
	f      *recorder
	cpu    uint8
	system arch.System // of its own
}

// Load implements arch.Memory.
func (t *trial) Load(at arch.Addr, size int) (uint64, bool) {
	v, ok := t.f.m.Memory().Seen(int(t.cpu), at, size)
	if ok {
		t.f.load(t.cpu, at, size, v)
	}
	return v, ok
}

// Store implements arch.Memory. One that isn't permitted faults when it is made.
func (t *trial) Store(at arch.Addr, size int, v uint64) bool {
	t.f.store(t.cpu, at, size, v&(^uint64(0)>>(64-8*size)))
	return true
}

// System is the CPU's state, to be changed by the trial only.
func (t *trial) System() arch.System { return t.system }

// isFault reports whether an exception means that its instruction wasn't executed.
func isFault(vector uint64) bool {
	switch vector {
	case smpev.VecDE, smpev.VecUD, smpev.VecGP, smpev.VecPF, smpev.VecBR:
		return true
	}
	return false
}
