package kernel

import (
	"bytes"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
)

// stubBase is where stubs lie: after the routines with an address, as entry text
// of its own.
const stubBase = smp.GateBase + 0x40_0000

// bootStubs gives the stubs their places and symbols.
func (k *Kernel) bootStubs() {
	for _, s := range kapi.Stubs() {
		at := k.M.Arch().Addr(stubBase + s.Offset)
		k.M.Memory().Map(at, bytes.Repeat(target.Arch.Breakpoint, s.Size), smp.PermRead|smp.PermExec)
		k.M.Names().AddSymbol(s.Name, at, s.Size)
		k.Symbols.Add(kapi.Function{Name: s.Name, Addr: at, Size: s.Size}, nil)
	}
}

// stubAt returns where a stub begins on x86-64, 0 if there is none of that name.
func stubAt(name string) arch.Addr {
	for _, s := range kapi.Stubs() {
		if s.Name == name {
			return stubBase + s.Offset
		}
	}
	return 0
}

// Stub implements kapi.Binder.
func (k *Kernel) Stub(name string) arch.Addr { return k.M.Arch().Addr(stubAt(name)) }

// Link implements kapi.Binder.
func (k *Kernel) Link(stub arch.Addr, code []byte) {
	for _, s := range kapi.Stubs() {
		if k.M.Arch().Addr(stubBase+s.Offset) == stub && len(code) <= s.Size {
			k.M.Memory().Link(stub, code)
			return
		}
	}
	sim.Bug("a stub of %d bytes at %#x: there is no room for it", len(code), uint64(stub))
}
