package vmlinux

import (
	"bytes"
	"slices"
)

// Recovered returns the relocations that are found without those of the file.
func (im *Image) Recovered() map[string][]uint64 {
	stripped := *im
	stripped.relocs = im.recovered()
	return stripped.Relocs()
}

// Relocs returns the sorted relocations, per-CPU data at its link address.
func (im *Image) Relocs() map[string][]uint64 {
	load, _ := im.Symbol("__per_cpu_load")
	perCPU := im.Section(".data..percpu")
	out := map[string][]uint64{}
	for _, l := range []struct {
		name string
		at   []uint64
	}{{"32", im.relocs.add32}, {"-32", im.relocs.minus32}, {"64", im.relocs.add64}} {
		for _, at := range l.at {
			if perCPU != nil && at >= load.Addr && at < load.Addr+perCPU.Size {
				at -= load.Addr
			}
			out[l.name] = append(out[l.name], at)
		}
		slices.Sort(out[l.name])
	}
	return out
}

// Read opens a kernel that is in memory.
func Read(b []byte) (*Image, error) {
	im := &Image{Path: "kernel"}
	packed, err := packedIn(bytes.NewReader(b), uint64(len(b)))
	switch {
	case err != nil:
	case packed == nil:
		err = im.read(bytes.NewReader(b), uint64(len(b)), nil)
	default:
		_, err = im.unpack(packed.payload)
	}
	return im, err
}

// DwarfTypes returns the types of DWARF, of an image with BTF too.
func (im *Image) DwarfTypes() *Types { return im.typesOfDwarf() }

// TypesOf returns the types of DWARF that isn't a kernel's.
func TypesOf(l *Lines) *Types {
	return (&Image{lines: func() (*Lines, error) { return l, nil }}).typesOfDwarf()
}
