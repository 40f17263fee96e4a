package kernel

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Symbols is the content of kallsyms and of the tables about text. It is filled at boot; in a run only the kinds of
// its ranges change. It implements kapi.Symbols. Symbols don't overlap.
type Symbols struct {
	funcs   []kapi.Function `state:"boot"` // set at boot: by address, once sorted
	named   []int32         `state:"boot"` // set at boot: indices into funcs, by name, those of one name by address
	extable []arch.Addr     `state:"boot"` // set at boot: by address, once sorted
	sites   []kapi.Site     `state:"boot"` // set at boot: by address, once sorted
	widest  int             `state:"boot"` // set at boot: the size of the largest site
	banned  []kapi.Banned   `state:"boot"` // set at boot: in the order in which they were banned
	ranges  []Range         `state:"boot"` // set at boot: by address, once sorted
	sorted  bool            `state:"boot"` // set at boot: nothing was added since all was sorted

	k       *Kernel            `state:"boot"` // set at boot
	kinds   []kapi.TextKind    // owned by module_mutex: by the number of a range
	changed kapi.Var[struct{}] // stored to when kinds change
}

// A Range is memory of one kind. Text of a function that is in no range is
// TextCore.
type Range struct {
	Addr arch.Addr
	Size int
	Kind kapi.TextKind // at boot
	id   int           // set at AddRange
}

// reset restores the kinds of all ranges at boot.
func (s *Symbols) reset() {
	s.kinds = s.kinds[:0]
	for range s.ranges {
		s.kinds = append(s.kinds, 0)
	}
	for i := range s.ranges {
		s.kinds[s.ranges[i].id] = s.ranges[i].Kind
	}
}

// Add adds a symbol and its exception-table entries (offsets), at boot.
func (s *Symbols) Add(f kapi.Function, extable []int) {
	s.funcs, s.sorted = append(s.funcs, f), false
	for _, off := range extable {
		s.extable = append(s.extable, f.Addr+arch.Addr(off))
	}
}

// AddRange adds a range, at boot, and returns its number for SetKind. Ranges
// don't overlap.
func (s *Symbols) AddRange(r Range) int {
	if r.id = len(s.ranges); r.id == 0 {
		s.changed.Init(&s.k.M.Cells, struct{}{})
	}
	s.ranges, s.sorted = append(s.ranges, r), false
	s.kinds = append(s.kinds, r.Kind)
	return r.id
}

// SetKind changes the kind of a range (point): TextNone when its module goes. Context: module_mutex held.
func (s *Symbols) SetKind(x kapi.Context, id int, kind kapi.TextKind) {
	s.changed.WriteOnce(x, struct{}{})
	s.kinds[id] = kind
}

// Look implements kapi.Symbols.
func (s *Symbols) Look(x kapi.Context) {
	if len(s.ranges) > 0 {
		s.changed.Look(x)
	}
}

// AddSite marks, at boot, text that something other than probes rewrites.
func (s *Symbols) AddSite(site kapi.Site) {
	s.sites, s.sorted = append(s.sites, site), false
	s.widest = max(s.widest, site.Size)
}

// Ban makes a function refuse probes, at boot.
func (s *Symbols) Ban(f kapi.Function, why kapi.Ban) {
	s.banned = append(s.banned, kapi.Banned{Function: f, Ban: why})
}

// sort sorts the added symbols for look-ups.
func (s *Symbols) sort() {
	if s.sorted {
		return
	}
	s.sorted = true
	slices.SortStableFunc(s.funcs, func(a, b kapi.Function) int { return cmp.Compare(a.Addr, b.Addr) })
	slices.SortStableFunc(s.sites, func(a, b kapi.Site) int { return cmp.Compare(a.Addr, b.Addr) })
	slices.SortStableFunc(s.ranges, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
	slices.Sort(s.extable)
	s.named = s.named[:0]
	for i := range s.funcs {
		s.named = append(s.named, int32(i))
	}
	slices.SortStableFunc(s.named, func(a, b int32) int { return strings.Compare(s.funcs[a].Name, s.funcs[b].Name) })
}

// at returns the symbol that addr lies in, whether it can be found or not; nil if there is none.
func (s *Symbols) at(addr arch.Addr) *kapi.Function {
	s.sort()
	i := sort.Search(len(s.funcs), func(i int) bool { return s.funcs[i].Addr > addr }) - 1
	if i < 0 || addr >= s.funcs[i].Addr+arch.Addr(s.funcs[i].Size) {
		return nil
	}
	return &s.funcs[i]
}

// Kind implements kapi.Symbols.
func (s *Symbols) Kind(addr arch.Addr) kapi.TextKind {
	s.sort()
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].Addr > addr }) - 1
	if i >= 0 && addr < s.ranges[i].Addr+arch.Addr(s.ranges[i].Size) {
		return s.kinds[s.ranges[i].id]
	}
	if s.at(addr) != nil {
		return kapi.TextCore
	}
	return kapi.TextNone
}

// there reports whether a symbol can be found: symbols of an unloaded module and of freed init text can't.
func (s *Symbols) there(f *kapi.Function) bool {
	switch s.Kind(f.Addr) {
	case kapi.TextNone:
		return false
	case kapi.TextFreed:
		return f.Module == "" // kallsyms of the kernel itself keeps them
	}
	return true
}

// Lookup implements kapi.Symbols.
func (s *Symbols) Lookup(addr arch.Addr) (kapi.Function, bool) {
	if f := s.at(addr); f != nil && s.there(f) {
		return *f, true
	}
	return kapi.Function{}, false
}

// Named implements kapi.Symbols.
func (s *Symbols) Named(name string) (kapi.Function, bool) {
	s.sort()
	module, symbol, qualified := strings.Cut(name, ":")
	if !qualified {
		symbol = name
	}
	i, _ := slices.BinarySearchFunc(s.named, symbol, func(n int32, name string) int {
		return strings.Compare(s.funcs[n].Name, name)
	})
	for ; i < len(s.named); i++ {
		f := &s.funcs[s.named[i]]
		if f.Name != symbol {
			break
		}
		if (!qualified || f.Module == module) && s.there(f) {
			return *f, true
		}
	}
	return kapi.Function{}, false
}

// Extable implements kapi.Symbols.
func (s *Symbols) Extable(addr arch.Addr, size int) bool {
	s.sort()
	i, _ := slices.BinarySearch(s.extable, addr)
	return i < len(s.extable) && s.extable[i] < addr+arch.Addr(size)
}

// from returns the index of the first site that can overlap text that begins at addr.
func (s *Symbols) from(addr arch.Addr) int {
	s.sort()
	first := addr - min(addr, arch.Addr(s.widest))
	i, _ := slices.BinarySearchFunc(s.sites, first, func(t kapi.Site, a arch.Addr) int {
		return cmp.Compare(t.Addr, a)
	})
	return i
}

// Reserved implements kapi.Symbols.
func (s *Symbols) Reserved(addr arch.Addr, size int) bool {
	for i := s.from(addr); i < len(s.sites) && s.sites[i].Addr < addr+arch.Addr(size); i++ {
		if addr < s.sites[i].Addr+arch.Addr(s.sites[i].Size) {
			return true
		}
	}
	return false
}

// Sites implements kapi.Symbols.
func (s *Symbols) Sites(to []kapi.Site, addr arch.Addr, size int) []kapi.Site {
	for i := s.from(addr); i < len(s.sites) && s.sites[i].Addr < addr+arch.Addr(size); i++ {
		if addr < s.sites[i].Addr+arch.Addr(s.sites[i].Size) {
			to = append(to, s.sites[i])
		}
	}
	return to
}

// Banned implements kapi.Symbols.
func (s *Symbols) Banned(addr arch.Addr) kapi.Ban {
	for i := range s.banned {
		if b := &s.banned[i]; addr >= b.Addr && addr < b.Addr+arch.Addr(b.Size) {
			return b.Ban
		}
	}
	return kapi.BanNone
}

// Blacklist implements kapi.Symbols.
func (s *Symbols) Blacklist(to []kapi.Banned) []kapi.Banned {
	for i := range s.banned {
		if s.there(&s.banned[i].Function) {
			to = append(to, s.banned[i])
		}
	}
	return to
}

// holding returns the module that addr belongs to, loaded or not, nil if to none.
func (ms *Modules) holding(addr arch.Addr) *Module {
	for _, m := range ms.list {
		if m.Core.Has(addr) || m.Init.Has(addr) {
			return m
		}
	}
	return nil
}

// of returns the kernel's Module for a client's.
func (ms *Modules) of(m *kapi.Module) *Module {
	for _, o := range ms.list {
		if &o.Module == m {
			return o
		}
	}
	return nil
}

// Find implements kapi.Modules.
func (ms *Modules) Find(x kapi.Context, addr arch.Addr) *kapi.Module {
	for _, m := range ms.list {
		if m.text(x, addr) {
			return &m.Module
		}
	}
	return nil
}

// text reports whether addr lies in the module's text, while that can be found.
func (m *Module) text(x kapi.Context, addr arch.Addr) bool {
	switch {
	case m.Core.Has(addr):
		return m.state.Deref(x) != kapi.ModuleUnformed
	case m.Init.Has(addr):
		return m.inits.Deref(x) && m.state.ReadOnce(x) != kapi.ModuleUnformed
	}
	return false
}

// stubBase is where stubs lie: after the routines with an address, as entry text of its own.
const stubBase = smp.GateBase + 0x40_0000

// bootStubs gives the stubs their places and symbols.
func (k *Kernel) bootStubs() {
	for _, s := range kapi.Stubs() {
		at, size := k.stub(s)
		k.M.Memory().Map(at, bytes.Repeat(k.M.Arch().Breakpoint, size)[:size], smp.PermRead|smp.PermExec)
		k.M.Names().AddSymbol(s.Name, at, size)
		k.Symbols.Add(kapi.Function{Name: s.Name, Addr: at, Size: size}, nil)
	}
}

// wideStub is how much more room a stub has where an instruction has no single byte.
const wideStub = 4

// stub returns where a stub lies, and its size.
func (k *Kernel) stub(s kapi.Stub) (at arch.Addr, size int) {
	wide := 1
	if k.M.Arch().Align > 1 {
		wide = wideStub
	}
	return k.M.Arch().Addr(stubBase + arch.Addr(wide)*s.Offset), wide * s.Size
}

// stubAt returns the address of a stub on x86-64, 0 if none has that name.
func stubAt(name string) arch.Addr {
	for _, s := range kapi.Stubs() {
		if s.Name == name {
			return stubBase + s.Offset
		}
	}
	return 0
}

// Stub implements kapi.Binder.
func (k *Kernel) Stub(name string) arch.Addr {
	for _, s := range kapi.Stubs() {
		if s.Name == name {
			at, _ := k.stub(s)
			return at
		}
	}
	return 0
}

// Link implements kapi.Binder.
func (k *Kernel) Link(stub arch.Addr, code []byte) {
	for _, s := range kapi.Stubs() {
		if at, size := k.stub(s); at == stub && len(code) <= size {
			k.M.Memory().Link(stub, code)
			return
		}
	}
	sim.Bug("a stub of %d bytes at %#x: there is no room for it", len(code), uint64(stub))
}
