package vmlinux

import (
	"bytes"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// Types returns the kernel's types, never nil: of BTF, else of DWARF. A kernel that
// has neither has none.
func (im *Image) Types() *Types { return im.types }

// readTypes reads .BTF. Without one, types come from DWARF, if there is any, when they
// are asked for.
func (im *Image) readTypes(o *object) (*Types, error) {
	s := im.Section(".BTF")
	if s == nil || s.Data == nil {
		t := im.typesOfDwarf()
		if o.find(".debug_info") != nil {
			t.From = "DWARF"
		}
		return t, nil
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(s.Data))
	if err != nil {
		return nil, fmt.Errorf(".BTF: %w: the file is damaged, or made by a pahole that is newer than this program", err)
	}
	r := btfReader{spec: spec, made: map[btf.Type]*composite{}}
	return &Types{From: "BTF", known: map[string]*composite{}, source: r.named}, nil
}

// A btfReader turns BTF's types into ours, each once.
type btfReader struct {
	spec *btf.Spec
	made map[btf.Type]*composite
}

// named returns the struct, union or other type with a size of that name, nil
// without one.
func (r *btfReader) named(name string) *composite {
	all, err := r.spec.AnyTypesByName(name)
	if err != nil {
		return nil
	}
	for _, typ := range all {
		if c, elements := r.composite(typ, depthMax); c != nil && elements == 0 {
			return c
		}
	}
	for _, typ := range all {
		if size, err := btf.Sizeof(typ); err == nil {
			return &composite{size: size}
		}
	}
	return nil
}

// composite returns the struct or union that a type is, or that an array has as
// elements, with the number of elements; nil if it is neither.
func (r *btfReader) composite(typ btf.Type, depth int) (c *composite, elements int) {
	typ = btf.UnderlyingType(typ)
	if a, ok := typ.(*btf.Array); ok && depth > 0 {
		c, n := r.composite(a.Type, depth-1)
		return c, int(a.Nelems) * max(n, 1)
	}
	if c, ok := r.made[typ]; ok || depth == 0 {
		return c, 0
	}
	var members []btf.Member
	c = &composite{}
	switch typ := typ.(type) {
	case *btf.Struct:
		c.size, members = int(typ.Size), typ.Members
	case *btf.Union:
		c.size, members = int(typ.Size), typ.Members
	default:
		return nil, 0
	}
	r.made[typ] = c
	for _, m := range members {
		size, err := btf.Sizeof(m.Type)
		if err != nil {
			size = 0 // an incomplete type has none
		}
		of, elements := r.composite(m.Type, depth-1)
		c.members = append(c.members, member{name: m.Name, bit: int(m.Offset), size: size, width: int(m.BitfieldSize), array: elements, of: of})
	}
	return c, 0
}
