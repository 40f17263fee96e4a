package vmlinux

import (
	"cmp"
	"slices"
	"sort"
)

// A Symbol is a symbol of the kernel.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64 // in bytes: from ELF, otherwise up to the next address with a symbol
	Func bool   // it lies in code

	Global bool // not static: other files can refer to it
	Weak   bool // a non-weak definition in another file would have replaced it

	near   byte // how far behind Addr code with the same TOC enters it, in bytes
	moves  bool // moves with the kernel: neither absolute nor per-CPU
	listed bool // in kallsyms, so the kernel finds it
	laid   bool // part of a layer
}

// Near returns how far behind its address code with the same TOC enters a function.
func (s Symbol) Near() uint64 { return uint64(s.near) }

// Entered returns the symbol with another Near.
func (s Symbol) Entered(near uint64) Symbol {
	s.near = byte(near)
	return s
}

// Laid reports whether the symbol is part of a layer.
func (s Symbol) Laid() bool { return s.laid }

// Symbols returns all symbols by address; those of one address in file order.
func (im *Image) Symbols() []Symbol { return im.symbols }

// Symbol returns the symbol of that name. If static symbols of several files share the name, it
// is the one with the lowest address, as in kallsyms_lookup_name.
func (im *Image) Symbol(name string) (Symbol, bool) {
	i, ok := im.byName[name]
	if !ok {
		return Symbol{}, false
	}
	return im.symbols[i], true
}

// Lookup returns the symbol that contains addr. Like kallsyms_lookup, it returns the first of
// several at one address, with the distance to kallsyms' next symbol as its size, whatever ELF
// says. It returns none for addresses outside the sections.
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

// At returns the first symbol whose address is addr, whether or not it is in kallsyms.
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

// indexSymbols sorts the symbols, computes their sizes, and builds the indices.
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
