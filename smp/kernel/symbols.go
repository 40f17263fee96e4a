package kernel

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// Symbols is what kallsyms and the tables beside the text know. It is filled
// at boot and doesn't change. It implements kapi.Symbols.
type Symbols struct {
	funcs    []kapi.Function // set at boot
	extable  []isa.Addr      // set at boot
	reserved []span          // set at boot
}

type span struct {
	at   isa.Addr
	size int
}

// Add adds a function and its exception-table entries (offsets), at boot.
func (s *Symbols) Add(f kapi.Function, extable []int) {
	s.funcs = append(s.funcs, f)
	for _, off := range extable {
		s.extable = append(s.extable, f.Addr+isa.Addr(off))
	}
}

// Reserve marks text that is rewritten by others than probes, at boot.
func (s *Symbols) Reserve(at isa.Addr, size int) { s.reserved = append(s.reserved, span{at, size}) }

// Lookup implements kapi.Symbols.
func (s *Symbols) Lookup(addr isa.Addr) (kapi.Function, bool) {
	for _, f := range s.funcs {
		if addr >= f.Addr && addr < f.Addr+isa.Addr(f.Size) {
			return f, true
		}
	}
	return kapi.Function{}, false
}

// Named implements kapi.Symbols.
func (s *Symbols) Named(name string) (kapi.Function, bool) {
	for _, f := range s.funcs {
		if f.Name == name {
			return f, true
		}
	}
	return kapi.Function{}, false
}

// Extable implements kapi.Symbols.
func (s *Symbols) Extable(addr isa.Addr, size int) bool {
	for _, a := range s.extable {
		if a >= addr && a < addr+isa.Addr(size) {
			return true
		}
	}
	return false
}

// Reserved implements kapi.Symbols.
func (s *Symbols) Reserved(addr isa.Addr, size int) bool {
	for _, r := range s.reserved {
		if addr < r.at+isa.Addr(r.size) && r.at < addr+isa.Addr(size) {
			return true
		}
	}
	return false
}

// Blacklisted implements kapi.Symbols: the simulated text holds nothing that
// the engine itself runs through.
func (s *Symbols) Blacklisted(isa.Addr) bool { return false }
