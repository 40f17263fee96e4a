package overlay

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"kpsim/smp/image/objfile"
	"strings"
)

// debugSections returns the object's debug information, linked at the object's addresses, by
// section names without their prefix. A compressed section counts as missing.
func (o *object) debugSections() (map[string][]byte, error) {
	sections := make(map[string][]byte)
	for i := range o.sections {
		s := &o.sections[i]
		name, ok := strings.CutPrefix(s.Name, ".debug_")
		if !ok || s.Kind != elf.SHT_PROGBITS || s.data == nil {
			continue
		}
		b := append([]byte(nil), s.data...)
		for _, r := range s.rela {
			at := [objfile.Quantities]uint64{objfile.SymbolAt: o.debugAddress(&o.symbols[r.Symbol]),
				objfile.HoleAt: uint64(r.Off)}
			if err := o.put(r, b, &at); err != nil {
				return nil, fmt.Errorf("section %s+%#x: %w", s.Name, r.Off, err)
			}
		}
		sections[name] = b
	}
	return sections, nil
}

// dwarf returns the object's debug information, or nil.
func (o *object) dwarf() (*dwarf.Data, error) {
	sections, err := o.debugSections()
	if err != nil {
		return nil, err
	}
	if len(sections["info"]) == 0 || len(sections["abbrev"]) == 0 {
		return nil, nil
	}
	d, err := dwarf.New(sections["abbrev"], nil, nil, sections["info"], sections["line"], nil, sections["ranges"],
		sections["str"])
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists", "loclists"} {
		if b := sections[name]; b != nil {
			if err := d.AddSection(".debug_"+name, b); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// debugAddress returns the address of the object's own copy, or an offset in debug information.
func (o *object) debugAddress(s *symbol) uint64 {
	if in := o.section(s); in != nil {
		return in.at + s.Value
	}
	return s.at
}
