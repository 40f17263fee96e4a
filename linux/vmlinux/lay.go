package vmlinux

import (
	"cmp"
	"fmt"
	"slices"
)

// A Layer is code and data laid over a kernel. Its addresses are those after Move.
type Layer struct {
	Digest   [32]byte
	Sections []Section // new memory
	PerCPU   []Section // new per-CPU data, after the kernel's
	Writes   []Write
	Moved    map[uint64]uint64 // functions of the kernel by address: entries of those in their place
	Symbols  []Symbol          // they take precedence over the kernel's

	Returns, Retpolines, Fentries, Traps []uint64

	Bug       func(addr uint64) (Bug, bool)
	Line      func(addr uint64) []Frame
	Beginning func(addr uint64) []Frame // as Lines.Beginning
}

// A Write replaces bytes of a kernel's memory before it runs.
type Write struct {
	Name string // the variable or function there
	Addr uint64
	Data []byte
}

// Lay lays code and data over the kernel, at most once and after any Move. From then on the image
// is the combination, without sites that were overwritten.
func (im *Image) Lay(l *Layer) error {
	if im.layer != nil {
		return fmt.Errorf("%s: has an overlay already: give all objects at once", im.Path)
	}
	for _, w := range l.Writes {
		s := im.sectionAt(w.Addr, uint64(len(w.Data)))
		if s == nil {
			return fmt.Errorf("%s: %s at %#x lies in no section", im.Path, w.Name, w.Addr)
		}
		if s.Data == nil {
			s.Data = make([]byte, s.Size)
		}
		copy(s.Data[w.Addr-s.Addr:], w.Data)
	}
	for _, s := range l.PerCPU {
		if err := im.layPerCPU(s); err != nil {
			return err
		}
	}
	for _, s := range l.Sections {
		s.laid = true
		im.sections = append(im.sections, s)
	}
	slices.SortStableFunc(im.sections, func(a, b Section) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := 1; i < len(im.sections); i++ {
		if p, s := &im.sections[i-1], &im.sections[i]; s.Addr-p.Addr < p.Size {
			return fmt.Errorf("%s: sections %s and %s at %#x overlap", im.Path, p.Name, s.Name, s.Addr)
		}
	}
	im.layer = l
	im.laySymbols()
	return nil
}

// layPerCPU adds per-CPU data.
func (im *Image) layPerCPU(more Section) error {
	s := im.Section(".data..percpu")
	if s == nil || more.Addr < s.Addr+s.Size {
		return fmt.Errorf("%s: has no per-CPU data, or some at %#x, where an overlay's was to be", im.Path, more.Addr)
	}
	size := more.Addr + more.Size - s.Addr
	im.sections = slices.DeleteFunc(im.sections, func(s Section) bool { return BootOnly(im, s) })
	s = im.Section(s.Name)
	data := make([]byte, size)
	copy(data, s.Data)
	copy(data[more.Addr-s.Addr:], more.Data)
	s.Data, s.Size = data, size
	return nil
}

// BootOnly reports whether only a kernel's boot reads a section.
func BootOnly(im *Image, s Section) bool {
	return im.class != nil && slices.Contains(im.class.boot, s.Name)
}

// laySymbols adds the layer's names.
func (im *Image) laySymbols() {
	for _, s := range im.layer.Symbols {
		s.listed, s.laid = true, true
		im.symbols = append(im.symbols, s)
	}
	im.indexSymbols()
	named := make(map[string]bool, len(im.layer.Symbols))
	for i := range im.symbols {
		if s := &im.symbols[i]; s.laid && !named[s.Name] {
			im.byName[s.Name], named[s.Name] = int32(i), true
		}
	}
}

// withLayer adds a layer's sites to the kernel's, except those that it overwrote.
func (im *Image) withLayer(all []uint64, layers func(*Layer) []uint64) []uint64 {
	if im.layer == nil {
		return all
	}
	over := make(map[uint64]bool)
	for _, w := range im.layer.Writes {
		for at := w.Addr - 4; at != w.Addr+uint64(len(w.Data)); at++ { // a site has five bytes
			over[at] = true
		}
	}
	all = slices.DeleteFunc(all, func(at uint64) bool { return over[at] })
	return append(all, layers(im.layer)...)
}

// Added returns the layer's functions that the kernel lacks, by name. Static functions are
// included, since a shared name may be coincidence.
func (im *Image) Added() (list []Symbol) {
	if im.layer == nil {
		return nil
	}
	below := make(map[string]bool)
	for i := range im.symbols {
		if s := &im.symbols[i]; !s.laid {
			below[s.Name] = true
		}
	}
	for i := range im.symbols {
		if s := &im.symbols[i]; s.laid && s.Func && (!s.Global || !below[s.Name]) {
			list = append(list, *s)
		}
	}
	return list
}

// Layer returns what was laid over the kernel, or nil.
func (im *Image) Layer() *Layer { return im.layer }

// Replacement returns the function that a function of the kernel at an address jumps to.
func (l *Layer) Replacement(addr uint64) (to uint64, ok bool) {
	if l != nil {
		to, ok = l.Moved[addr]
	}
	return to, ok
}
