package image

import (
	"cmp"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Assembled returns a module of functions that are already linked, without patching anything.
// Each function is followed by the next one, or by zeros. Sites may be in any order.
func Assembled(name string, funcs []Func, sites []Site) *Module {
	m := &Module{Name: name, Sites: sites}
	funcs = slices.SortedFunc(slices.Values(funcs), func(a, b Func) int { return cmp.Compare(a.Addr, b.Addr) })
	for i, f := range funcs {
		m.Symbols = append(m.Symbols, Symbol{Name: f.Name, Addr: f.Addr, Size: len(f.Code), Nth: 1})
		code := append(slices.Clone(f.Code), make([]byte, x86.MaxLen-1)...)
		for _, g := range funcs[i+1:] { // bytes that an instruction at the end of f may include
			if off := int(min(g.Addr-f.Addr, arch.Addr(len(code)))); off < len(code) {
				copy(code[off:], g.Code)
			}
		}
		m.text = append(m.text, region{at: f.Addr, bytes: code})
		for _, off := range f.Extable {
			m.Sites = append(m.Sites, Site{Addr: f.Addr + arch.Addr(off), Len: 1, Kind: SiteExtable})
		}
	}
	slices.SortFunc(m.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind))
	})
	return m
}
