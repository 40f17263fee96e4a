package vmlinux

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
)

// typesFrom lists functions whose compilation units are searched first for a type: they define
// most types that concern patching.
var typesFrom = []string{"register_kprobe", "arch_optimize_kprobes", "text_poke", "rethook_try_get", "jump_label_init",
	"start_kernel"}

// A dwarfTypes reads types from DWARF. Units are indexed one after another until one defines the
// type.
type dwarfTypes struct {
	lines func() (*Lines, error)
	ahead []uint64 // units to read first
	next  uint64   // the next unit to read
	read  map[uint64]bool
	where map[string]typePlace
	made  map[*dwarf.StructType]*composite
}

// A typePlace is where a type is defined.
type typePlace struct {
	unit  uint64
	entry dwarf.Offset // offset within the unit
}

// typesOfDwarf returns the types of a vmlinux without BTF. A lookup takes a few milliseconds; if
// no preferred unit has the type, it takes as long as reading .debug_info.
func (im *Image) typesOfDwarf() *Types {
	r := &dwarfTypes{lines: im.lines, read: map[uint64]bool{}, where: map[string]typePlace{},
		made: map[*dwarf.StructType]*composite{}}
	for _, name := range typesFrom {
		if s, ok := im.Symbol(name); ok {
			r.ahead = append(r.ahead, s.Addr) // converted to a unit on demand
		}
	}
	started := false
	return &Types{known: map[string]*composite{}, source: func(name string) *composite {
		l, err := r.lines()
		if err != nil || l == nil {
			return nil
		}
		if !started {
			started = true
			for i, addr := range r.ahead {
				r.ahead[i] = ^uint64(0)
				if s := l.span(addr); s != nil {
					r.ahead[i] = s.unit
				}
			}
		}
		return r.named(l, name)
	}}
}

// named returns the struct, union or other type of that name that has a size; nil if there is
// none.
func (r *dwarfTypes) named(l *Lines, name string) *composite {
	// shorter names may be stored in .debug_info
	if !bytes.Contains(l.sections.Str, append([]byte(name), 0)) && len(name) >= 8 {
		return nil
	}
	p, ok := r.where[name]
	for !ok && r.index(l) {
		p, ok = r.where[name]
	}
	if !ok {
		return nil
	}
	d, err := l.open(p.unit)
	if err != nil {
		return nil
	}
	typ, err := d.Type(p.entry)
	if err != nil {
		return nil
	}
	if c, elements := r.composite(typ, depthMax); c != nil && elements == 0 {
		return c
	}
	return &composite{size: int(max(typ.Size(), 0))}
}

// index records the definitions of the next unit. It returns false if there is none left.
func (r *dwarfTypes) index(l *Lines) bool {
	at, inOrder := r.next, len(r.ahead) == 0
	if !inOrder {
		at, r.ahead = r.ahead[0], r.ahead[1:]
		if at == ^uint64(0) || r.read[at] {
			return true
		}
	} else {
		var head [4]byte
		if at >= l.sections.InfoSize {
			return false
		}
		if _, err := l.sections.Info.ReadAt(head[:], int64(at)); err != nil {
			return false
		}
		r.next += 4 + uint64(binary.LittleEndian.Uint32(head[:]))
		if r.read[at] {
			return true
		}
	}
	r.read[at] = true
	d, err := l.open(at)
	if err != nil {
		if inOrder { // the start of the next one isn't known
			r.next = l.sections.InfoSize
		}
		return true
	}
	entries := d.Reader()
	if _, err := entries.Next(); err != nil {
		return true
	}
	for {
		e, err := entries.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return true
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		declared, _ := e.Val(dwarf.AttrDeclaration).(bool)
		if _, ok := r.where[name]; !ok && name != "" && !declared && isType(e.Tag) {
			r.where[name] = typePlace{at, e.Offset}
		}
		entries.SkipChildren()
	}
}

func isType(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagTypedef, dwarf.TagBaseType:
		return true
	}
	return false
}

// composite returns the struct or union that a type is or, for an array, that its elements are,
// with the number of elements; nil if it is neither.
func (r *dwarfTypes) composite(typ dwarf.Type, depth int) (c *composite, elements int) {
	for range depthMax {
		switch t := typ.(type) {
		case *dwarf.TypedefType:
			typ = t.Type
			continue
		case *dwarf.QualType:
			typ = t.Type
			continue
		case *dwarf.ArrayType:
			if depth > 0 {
				c, n := r.composite(t.Type, depth-1)
				return c, int(max(t.Count, 0)) * max(n, 1)
			}
		case *dwarf.StructType:
			return r.structure(t, depth), 0
		}
		break
	}
	return nil, 0
}

func (r *dwarfTypes) structure(t *dwarf.StructType, depth int) *composite {
	if c, ok := r.made[t]; ok || depth == 0 {
		return c
	}
	c := &composite{size: int(max(t.ByteSize, 0))}
	r.made[t] = c
	for _, f := range t.Field {
		m := member{name: f.Name, bit: int(8 * f.ByteOffset), size: int(max(f.Type.Size(), 0)), width: int(f.BitSize)}
		if f.BitSize != 0 {
			m.bit = int(8*f.ByteOffset + f.DataBitOffset)
			if f.ByteSize != 0 { // DWARF 2 counts bits from the other end
				m.bit = int(8*(f.ByteOffset+f.ByteSize) - f.BitOffset - f.BitSize)
			}
		}
		m.of, m.array = r.composite(f.Type, depth-1)
		c.members = append(c.members, m)
	}
	return c
}
