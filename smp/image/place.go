package image

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"kpsim/smp/isa"
)

const pageBytes = 4096

// Place links the object so that its first text section begins at base, and
// returns its functions and data. Code sections follow each other with their
// alignment counted from base: a base that isn't aligned moves all code alike,
// which is how a scenario puts a site across a chunk or page boundary. Each
// data section begins on a page of its own behind the code. extern says where
// a symbol is that the object doesn't define.
func (o *Object) Place(base isa.Addr, extern func(symbol string) (isa.Addr, bool)) (*Image, error) {
	at, err := o.layout(base)
	if err != nil {
		return nil, err
	}
	var linked [][]byte
	for i := range o.sections {
		code, err := o.link(i, at, extern)
		if err != nil {
			return nil, err
		}
		linked = append(linked, code)
	}

	img := new(Image)
	for _, f := range o.funcs {
		img.Funcs = append(img.Funcs, Func{
			Name:    f.name,
			Addr:    at[f.sec] + isa.Addr(f.off),
			Code:    linked[f.sec][f.off : f.off+f.size : f.off+f.size],
			Extable: slices.Clone(f.extable),
		})
	}
	for i := o.texts; i < len(o.sections); i++ {
		img.Blocks = append(img.Blocks, Block{Name: o.sections[i].name, Addr: at[i], Bytes: linked[i]})
	}
	return img, nil
}

// layout returns the address of each section.
func (o *Object) layout(base isa.Addr) ([]isa.Addr, error) {
	// Padding for alignment is at most alignMax a section.
	room := uint64(objectBytesMax) + uint64(len(o.sections)+1)*alignMax
	if uint64(base) > math.MaxUint64-room {
		return nil, fmt.Errorf("%s: doesn't fit behind %#x: choose a lower address", o.name, uint64(base))
	}
	at := make([]isa.Addr, len(o.sections))
	end := uint64(0) // from base, while it is code
	for i := range o.texts {
		end = alignUp(end, o.sections[i].align)
		at[i] = base + isa.Addr(end)
		end += uint64(len(o.sections[i].data))
	}
	end += uint64(base)
	for i := o.texts; i < len(o.sections); i++ {
		end = alignUp(end, max(pageBytes, o.sections[i].align))
		at[i] = isa.Addr(end)
		end += uint64(len(o.sections[i].data))
	}
	return at, nil
}

func alignUp(v, align uint64) uint64 { return (v + align - 1) &^ (align - 1) }

// link returns the bytes of section i with its relocations applied.
func (o *Object) link(i int, at []isa.Addr, extern func(string) (isa.Addr, bool)) ([]byte, error) {
	s := &o.sections[i]
	b := slices.Clone(s.data)
	for k := range s.relocs {
		r := &s.relocs[k]
		var to uint64
		switch r.to.place {
		case loaded:
			to = uint64(at[r.to.sec]) + r.to.value
		case absolute:
			to = r.to.value
		case external:
			a, ok := extern(r.to.name)
			if !ok {
				return nil, fmt.Errorf("%s: %s refers to %s, which isn't defined: define it in the object or as a function of the scenario", o.name, o.where(i, r.off), r.to.name)
			}
			to = uint64(a)
		}
		v, ok := r.encode(uint64(at[i])+uint64(r.off), to)
		if !ok {
			return nil, fmt.Errorf("%s: %s: %s at %#x is out of reach (%v): %s", o.name, o.where(i, r.off), r.to.name, to, r.kind, reach(r))
		}
		if size(r.kind) == 8 {
			binary.LittleEndian.PutUint64(b[r.off:], v)
		} else {
			binary.LittleEndian.PutUint32(b[r.off:], uint32(v))
		}
	}
	return b, nil
}

// reach says what to do about an overflow.
func reach(r *reloc) string {
	if r.relative() {
		return "place the two within 2 GiB of each other"
	}
	return "place the object below 2 GiB, or compile with -fpie so that addresses are relative"
}
