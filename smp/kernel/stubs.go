package kernel

import (
	"bytes"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// stubs are pieces of the kernel's text that an engine fills in (kapi.Binder).
// Append only: text linked against them is kept in traces.
var stubs = []struct {
	name string
	at   arch.Addr
	size int
}{
	{"kretprobe_trampoline", stubBase, 112},
	{"jprobe_return", stubBase + 0x80, 2},
	{"jprobe_handler_entry", stubBase + 0x90, 16},
}

// stubBase is where they lie: behind the routines with an address, as entry
// text of its own.
const stubBase = smp.GateBase + 0x40_0000

// bootStubs gives them their places and symbols.
func (k *Kernel) bootStubs() {
	for _, s := range stubs {
		k.M.Map(s.at, bytes.Repeat([]byte{x86.Int3}, s.size), smp.PermRead|smp.PermExec)
		k.M.AddSymbol(s.name, s.at, s.size)
		k.Symbols.Add(kapi.Function{Name: s.name, Addr: s.at, Size: s.size}, nil)
	}
}

// Stub implements kapi.Binder.
func (k *Kernel) Stub(name string) arch.Addr {
	for i := range stubs {
		if stubs[i].name == name {
			return stubs[i].at
		}
	}
	return 0
}

// Link implements kapi.Binder.
func (k *Kernel) Link(stub arch.Addr, code []byte) {
	for i := range stubs {
		if s := &stubs[i]; s.at == stub && len(code) <= s.size {
			k.M.Link(stub, code)
			return
		}
	}
	sim.Bug("a stub of %d bytes at %#x: there is no room for it", len(code), uint64(stub))
}
