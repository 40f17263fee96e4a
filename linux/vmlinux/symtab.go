package vmlinux

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
)

// A tabled symbol is a row of the ELF symbol table, as relocations count them.
type tabled struct {
	name    string
	addr    uint64
	size    uint64
	info    byte
	section elf.SectionIndex
}

const (
	symtabMax   = 256 << 20 // bytes
	longestName = 1024      // KSYM_NAME_LEN is 512
)

// symtab reads the symbol table; nil if there is none. All names share one string.
func (o *object) symtab() ([]tabled, error) {
	i := slices.IndexFunc(o.headers, func(h header) bool { return h.kind == elf.SHT_SYMTAB })
	if i < 0 {
		return nil, nil
	}
	table := &o.headers[i]
	if int(table.link) >= len(o.headers) || table.entry != uint64(o.Sym) {
		return nil, fmt.Errorf(".symtab: isn't as ELF has it: link the kernel again")
	}
	b, err := o.read(table, symtabMax)
	if err != nil {
		return nil, err
	}
	raw, err := o.read(&o.headers[table.link], symtabMax)
	if err != nil {
		return nil, err
	}
	names := string(raw)
	all := make([]tabled, len(b)/o.Sym)
	for i := range all {
		s := o.Symbol(b[i*o.Sym:])
		all[i] = tabled{info: s.Info, section: s.Section, addr: s.Value, size: s.Size}
		if at := int(s.Name); at < len(names) {
			if end := bytes.IndexByte(raw[at:min(len(raw), at+longestName)], 0); end > 0 {
				all[i].name = names[at : at+end]
			}
		}
	}
	return all, nil
}

// merge adds the symbols that only the symbol table has, and the sizes of the others.
func (im *Image) merge(table []tabled) {
	alone := len(im.symbols) == 0
	rows := slices.Clone(table)
	rows = slices.DeleteFunc(rows, func(r tabled) bool {
		t := elf.ST_TYPE(r.info)
		return r.name == "" || r.section == elf.SHN_UNDEF || t > elf.STT_FUNC && t != elf.STT_GNU_IFUNC ||
			len(r.name) > 1 && r.name[:2] == ".L"
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
		if i, ok := listed[key{r.name, r.addr}]; ok {
			im.symbols[i].Size = r.size
			continue
		}
		s := Symbol{Name: r.name, Addr: r.addr, Size: r.size, listed: alone}
		s.Global, s.Weak = elf.ST_BIND(r.info) != elf.STB_LOCAL, elf.ST_BIND(r.info) == elf.STB_WEAK
		s.moves = r.section < elf.SHN_LORESERVE && im.class.moves(r.addr)
		im.symbols = append(im.symbols, s)
	}
}
