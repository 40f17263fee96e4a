package vmlinux

import (
	"bytes"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// Types returns the kernel's types from BTF, or else from DWARF. It is never nil; without both it
// is empty.
func (im *Image) Types() *Types { return im.types }

// readTypes reads .BTF. Without it, types are read from DWARF, if present, on demand.
func (im *Image) readTypes(o *object) (*Types, error) {
	s := im.Section(".BTF")
	if s == nil || s.Data == nil {
		t := im.typesOfDwarf()
		if o != nil && o.Find(".debug_info") != nil {
			t.From = "DWARF"
		}
		return t, nil
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(s.Data))
	if err != nil {
		return nil, fmt.Errorf(".BTF: %w: the file is damaged, or made by a pahole that is newer than this program",
			err)
	}
	r := btfReader{spec: spec, word: im.class.Word, made: map[btf.Type]*composite{}}
	return &Types{From: "BTF", known: map[string]*composite{}, source: r.named}, nil
}

// A btfReader converts BTF types to ours, each once.
type btfReader struct {
	spec *btf.Spec
	word int // bytes of a pointer
	made map[btf.Type]*composite
}

// named returns the struct, union or other type of that name that has a size; nil if there is
// none.
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
		if size, err := r.size(typ, depthMax); err == nil {
			return &composite{size: size}
		}
	}
	return nil
}

// size is btf.Sizeof with the kernel's pointer size; btf.Sizeof assumes eight bytes.
func (r *btfReader) size(typ btf.Type, depth int) (int, error) {
	switch t := btf.UnderlyingType(typ).(type) {
	case *btf.Pointer:
		return r.word, nil
	case *btf.Array:
		if depth > 0 {
			n, err := r.size(t.Type, depth-1)
			return n * int(t.Nelems), err
		}
	}
	return btf.Sizeof(typ)
}

// composite returns the struct or union that a type is or, for an array, that its elements are,
// with the number of elements; nil if it is neither.
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
		size, err := r.size(m.Type, depthMax)
		if err != nil {
			size = 0 // an incomplete type has no size
		}
		of, elements := r.composite(m.Type, depth-1)
		c.members = append(c.members, member{name: m.Name, bit: int(m.Offset), size: size, width: int(m.BitfieldSize),
			array: elements, of: of})
	}
	return c, 0
}
