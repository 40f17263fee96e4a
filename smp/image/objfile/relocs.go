package objfile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"math"
	"slices"
)

// relocsMax is the maximum size of an object's relocations, in bytes.
const relocsMax = 64 << 20

// A Reloc is a hole in a section that depends on where things are put.
type Reloc struct {
	Off    int // in the section
	Kind   uint32
	Symbol int
	Addend int64
}

// Row reads a row of relocations: its offset, its symbol, its kind and its addend, which is 0 if
// it is in the hole.
func (c *Class) Row(b []byte) (at, symbol uint64, kind uint32, addend int64) {
	w := c.Words(b, 0, c.Rel/c.Word)
	if c.Word == 8 {
		return w[0], w[1] >> 32, uint32(w[1]), int64(w[2])
	}
	return w[0], w[1] >> 8, uint32(w[1] & 0xff), int64(int32(w[2]))
}

// Relocs reads the relocations of the wanted sections, and returns them by section and offset.
// All holes lie in their sections, and all symbols among the first n. R_*_NONE is left out.
func (f *File) Relocs(n int, wanted func(*Section) bool) ([][]Reloc, error) {
	all := make([][]Reloc, len(f.Sections))
	total := uint64(0)
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Kind != elf.SHT_RELA && s.Kind != elf.SHT_REL || int(s.Info) >= len(all) || !wanted(&f.Sections[s.Info]) {
			continue
		}
		switch {
		case s.Kind == f.Rels:
		case s.Kind == elf.SHT_REL:
			return nil, fmt.Errorf("section %s: relocations without addends: assemble it for x86-64, where they "+
				"have them", s.Name)
		default:
			return nil, fmt.Errorf("section %s: relocations with addends: assemble it for i386, where the holes "+
				"have them", s.Name)
		}
		if total += s.Size; s.Size > relocsMax || total > relocsMax {
			return nil, fmt.Errorf("section %s: more than %d MiB of relocations: take what is probed out into a "+
				"smaller file", s.Name, relocsMax>>20)
		}
		rows, err := f.Bytes(s, relocsMax)
		if err != nil {
			return nil, err
		}
		if len(rows)%f.Rel != 0 {
			return nil, f.damaged("section %s: can't be read as relocations", s.Name)
		}
		to := slices.Grow(all[s.Info], len(rows)/f.Rel)
		if all[s.Info], err = f.appendRelocs(to, s, rows, n); err != nil {
			return nil, err
		}
	}
	byOffset := func(a, b Reloc) int { return cmp.Compare(a.Off, b.Off) }
	for _, list := range all {
		if !slices.IsSortedFunc(list, byOffset) {
			slices.SortStableFunc(list, byOffset)
		}
	}
	return all, nil
}

// High returns, of a section's relocations, that of the instruction at an offset: it has the high part of
// what a Field with High has the low part of. nil: there is none.
func (c *Class) High(list []Reloc, off uint64) *Reloc {
	for k := range list {
		r := &list[k]
		if f := c.Form(r.Kind); uint64(r.Off) == off && f.Relative() && f.Field != nil {
			return r
		}
	}
	return nil
}

// appendRelocs reads the rows of section s, with fewer than n symbols.
func (f *File) appendRelocs(list []Reloc, s *Section, rows []byte, n int) ([]Reloc, error) {
	to := &f.Sections[s.Info]
	if len(rows) == 0 {
		return list, nil
	}
	var holes []byte
	if f.Rels == elf.SHT_REL {
		var err error
		if holes, err = f.Bytes(to, to.Size); err != nil {
			return nil, err
		}
	}
	for ; len(rows) > 0; rows = rows[f.Rel:] {
		off, symbol, kind, addend := f.Row(rows)
		if symbol >= uint64(n) {
			return nil, f.damaged("section %s: refers to symbol %d of %d", s.Name, symbol, n)
		}
		if kind == 0 { // R_*_NONE
			continue
		}
		r := Reloc{Off: int(min(off, math.MaxInt32)), Kind: kind, Symbol: int(symbol), Addend: addend}
		form := f.Form(kind)
		if off > to.Size || to.Size-off < uint64(form.Bytes) {
			return nil, f.damaged("%s+%#x: relocation behind the end of the section", to.Name, off)
		}
		if holes != nil {
			r.Addend = form.addend(f.Order, holes[off:])
		}
		list = append(list, r)
	}
	return list, nil
}
