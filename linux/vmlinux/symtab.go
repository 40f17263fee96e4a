package vmlinux

import (
	"debug/elf"
	"kpsim/smp/image/objfile"
	"slices"
)

// merge adds the symbols that only the symbol table has, and the sizes of the others.
func (im *Image) merge(table []objfile.Symbol) {
	alone := len(im.symbols) == 0
	rows := slices.Clone(table)
	rows = slices.DeleteFunc(rows, func(r objfile.Symbol) bool {
		t := r.Type()
		return r.Name == "" || r.Section == elf.SHN_UNDEF || t > elf.STT_FUNC && t != elf.STT_GNU_IFUNC ||
			len(r.Name) > 1 && r.Name[:2] == ".L"
	})
	type key struct {
		name string
		addr uint64
	}
	listed := make(map[key]int32, len(im.symbols))
	for i := range im.symbols {
		listed[key{im.symbols[i].Name, im.symbols[i].Addr}] = int32(i)
	}
	for _, r := range rows {
		if i, ok := listed[key{r.Name, r.Value}]; ok {
			im.symbols[i].Size, im.symbols[i].near = r.Size, im.class.near(r)
			continue
		}
		s := Symbol{Name: r.Name, Addr: r.Value, Size: r.Size, near: im.class.near(r), listed: alone}
		s.Global, s.Weak = r.Bind() != elf.STB_LOCAL, r.Bind() == elf.STB_WEAK
		s.moves = r.Section < elf.SHN_LORESERVE && im.class.moves(r.Value)
		im.symbols = append(im.symbols, s)
	}
}

// near returns Symbol.near of a row.
func (c *class) near(r objfile.Symbol) byte { return byte(c.Local(r.Other)) }
