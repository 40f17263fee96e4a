package objfile

import (
	"debug/elf"
	"slices"
	"strconv"
	"strings"
)

const (
	// nameMax is the length at which a name is cut. The kernel's KSYM_NAME_LEN is 512, but C++ and Rust make longer
	// ones.
	nameMax = 4096
	// escapedMax bounds what is allocated for the names of a table that aren't plain text, in bytes.
	escapedMax = 1 << 20
)

// names returns a string table.
func (f *File) names(section uint32) (string, error) {
	b, err := f.Bytes(&f.Sections[section], tableMax)
	return string(b), err
}

// stringAt returns the string at an offset of a string table, and whether there is one. It isn't
// copied.
func stringAt(table string, off uint32) (string, bool) {
	if uint64(off) >= uint64(len(table)) {
		return "", off == 0
	}
	name := table[off:][:min(nameMax, len(table)-int(off))]
	if end := strings.IndexByte(name, 0); end >= 0 {
		return name[:end], true
	}
	return name, len(name) == nameMax
}

// visible returns a printable name: other characters than letters, signs and blanks are written
// as in Go, \x01.
func visible(name string) string {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' {
			quoted := strconv.Quote(name)
			return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
		}
	}
	return name
}

// A Symbol is a row of a symbol table.
type Symbol struct {
	Name        string
	Info, Other byte
	Section     elf.SectionIndex
	Value, Size uint64
}

// Bind returns whether the symbol is local, global or weak.
func (s *Symbol) Bind() elf.SymBind { return elf.ST_BIND(s.Info) }

// Type returns what the symbol names.
func (s *Symbol) Type() elf.SymType { return elf.ST_TYPE(s.Info) }

// symbol reads a row of a symbol table, except the name. In 32-bit files value and size come first.
func (c *Class) symbol(b []byte) Symbol {
	kind, w := b[4:], c.Words(b, 8, 2)
	if c.Word == 4 {
		kind, w = b[12:], c.Words(b, 4, 2)
	}
	return Symbol{Info: kind[0], Other: kind[1], Section: elf.SectionIndex(c.Order.Uint16(kind[2:])), Value: w[0],
		Size: w[1]}
}

// Symbols reads the symbol table. Its first row is the null symbol, so that indices match
// relocations. A file without a table has no rows.
func (f *File) Symbols() ([]Symbol, error) {
	i := slices.IndexFunc(f.Sections, func(s Section) bool { return s.Kind == elf.SHT_SYMTAB })
	if i < 0 {
		return nil, nil
	}
	t := &f.Sections[i]
	b, err := f.Bytes(t, tableMax)
	if err != nil {
		return nil, err
	}
	if len(b)%f.Sym != 0 || int(t.Link) >= len(f.Sections) {
		return nil, f.damaged("section %s: can't be read as symbols", t.Name)
	}
	names, err := f.names(t.Link)
	if err != nil {
		return nil, err
	}
	all, escaped := make([]Symbol, len(b)/f.Sym), 0
	for i := range all {
		row := b[i*f.Sym:]
		name, ok := stringAt(names, f.Order.Uint32(row))
		all[i] = f.symbol(row)
		if all[i].Name = visible(name); all[i].Name != name {
			escaped += len(all[i].Name)
		}
		if !ok || escaped > escapedMax {
			return nil, f.damaged("symbol %d: its name isn't text of the table of names", i)
		}
	}
	return all, nil
}
