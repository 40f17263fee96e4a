package vmlinux

import (
	"cmp"
	"slices"
	"sort"
)

// A Symbol is a name of the kernel.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64 // in bytes: as ELF says, else up to the next address with a symbol
	Func bool   // lies in code

	Global bool // other files can refer to it: it isn't static
	Weak   bool // and a definition in another file would have won

	moves  bool // with the kernel: neither absolute nor per-CPU
	listed bool // in kallsyms, so the kernel finds it
	laid   bool // a layer's
}

// Laid reports whether the symbol is a layer's.
func (s Symbol) Laid() bool { return s.laid }

// Symbols returns all symbols by address; those of one address as in the file.
func (im *Image) Symbols() []Symbol { return im.symbols }

// Symbol returns the symbol of that name. Static symbols of several files can
// have one name: then it is that of the lowest address, as kallsyms_lookup_name
// has it.
func (im *Image) Symbol(name string) (Symbol, bool) {
	i, ok := im.byName[name]
	if !ok {
		return Symbol{}, false
	}
	return im.symbols[i], true
}

// Lookup returns the symbol that addr lies in. As kallsyms_lookup does, it takes
// the first of several at one address, and a symbol's size is how far the next one
// of kallsyms is, whatever ELF says. It knows no symbol outside of the sections.
func (im *Image) Lookup(addr uint64) (Symbol, bool) {
	i := sort.Search(len(im.lookup), func(i int) bool { return im.symbols[im.lookup[i]].Addr > addr }) - 1
	sec := im.sectionAt(addr, 1)
	if i < 0 || sec == nil {
		return Symbol{}, false
	}
	s := im.symbols[im.lookup[i]]
	end := sec.Addr + sec.Size
	if i+1 < len(im.lookup) {
		end = min(end, im.symbols[im.lookup[i+1]].Addr)
	}
	s.Size = end - s.Addr
	return s, true
}

// At returns the first symbol whose address is addr, whether kallsyms has it or not.
func (im *Image) At(addr uint64) (Symbol, bool) {
	i, ok := slices.BinarySearchFunc(im.symbols, addr, func(s Symbol, at uint64) int { return cmp.Compare(s.Addr, at) })
	if !ok {
		return Symbol{}, false
	}
	return im.symbols[i], true
}

// Together reports whether two addresses lie in one section.
func (im *Image) Together(a, b uint64) bool {
	sec := im.sectionAt(a, 1)
	return sec != nil && sec == im.sectionAt(b, 1)
}

// indexSymbols sorts the symbols, says how far each reaches, and makes the indices.
func (im *Image) indexSymbols() {
	slices.SortStableFunc(im.symbols, func(a, b Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	next := ^uint64(0)
	for i := len(im.symbols) - 1; i >= 0; i-- {
		s := &im.symbols[i]
		if i+1 < len(im.symbols) && im.symbols[i+1].Addr != s.Addr {
			next = im.symbols[i+1].Addr
		}
		sec := im.sectionAt(s.Addr, 1)
		if sec == nil {
			continue
		}
		s.Func = sec.Exec
		if s.Size == 0 {
			s.Size = min(next, sec.Addr+sec.Size) - s.Addr
		}
	}
	im.byName = make(map[string]int32, len(im.symbols))
	im.lookup = make([]int32, 0, len(im.symbols))
	for i := range im.symbols {
		s := &im.symbols[i]
		if _, ok := im.byName[s.Name]; !ok {
			im.byName[s.Name] = int32(i)
		}
		if n := len(im.lookup); s.listed && (n == 0 || im.symbols[im.lookup[n-1]].Addr != s.Addr) {
			im.lookup = append(im.lookup, int32(i))
		}
	}
}
