package vmlinux

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"kpsim/smp/image/objfile"
	"slices"
	"strings"
)

// loadedMax limits the size of a section and of all loaded sections, in bytes. allyesconfig has
// about 200 MiB.
const loadedMax = 512 << 20

// A Section is a part of the kernel that is in memory at run time.
type Section struct {
	Name  string
	Addr  uint64 // of its first byte
	Size  uint64 // in bytes
	Data  []byte // nil: zeros
	Exec  bool
	Write bool
	laid  bool // part of a layer
}

// contains reports whether n bytes at addr lie inside.
func (s *Section) contains(addr, n uint64) bool {
	return addr >= s.Addr && addr-s.Addr <= s.Size && s.Size-(addr-s.Addr) >= n
}

// An object is an ELF file, possibly inside another file. Its sections lie in it.
type object struct {
	*objfile.File
	class *class
	r     io.ReaderAt
	size  uint64
	end   uint64 // of everything the headers name; relocations may follow
}

// executable returns the class of an executable from its first bytes.
func executable(h []byte) (*class, error) {
	if len(h) < class64.Ehdr {
		return nil, fmt.Errorf("ends inside its ELF header: give the file whole")
	}
	c := classOf(h)
	switch kind := elf.Type(binary.LittleEndian.Uint16(h[16:])); {
	case string(h[:4]) != elf.ELFMAG:
		return nil, fmt.Errorf("is no ELF file: give a vmlinux, or a vmlinuz of %s", processors())
	case c == nil:
		return nil, fmt.Errorf("is an ELF file of another processor: give a kernel of %s", processors())
	case kind != elf.ET_EXEC && kind != c.linked:
		return nil, fmt.Errorf("is an ELF file, but no linked kernel (its type is %v): give the vmlinux at the "+
			"root of the build", kind)
	}
	return c, nil
}

// readObject reads the headers of the executable in r, of size bytes. whole is the
// file if it is in memory.
func readObject(r io.ReaderAt, size uint64, whole []byte) (*object, error) {
	h := make([]byte, min(size, uint64(class64.Ehdr)))
	if _, err := r.ReadAt(h, 0); err != nil {
		return nil, err
	}
	c, err := executable(h)
	if err != nil {
		return nil, err
	}
	f, err := objfile.Read(c.Class, r, size, whole, "link it again")
	if err != nil {
		return nil, err
	}
	end, err := f.End()
	return &object{File: f, class: c, r: r, size: size, end: end}, err
}

// load reads the sections that are in memory at run time, by address.
func (o *object) load() ([]Section, error) {
	var all []Section
	left := uint64(loadedMax)
	for i := range o.Sections {
		h := &o.Sections[i]
		if h.Flags&elf.SHF_ALLOC == 0 || h.Size == 0 {
			continue
		}
		if h.Addr+h.Size < h.Addr || h.Addr+h.Size-1 > o.class.mask {
			return nil, fmt.Errorf("section %s: wraps around the address space: this is no kernel", h.Name)
		}
		if h.Size > left {
			return nil, fmt.Errorf("section %s: the kernel has more than %d MiB: that isn't supported", h.Name,
				loadedMax>>20)
		}
		left -= h.Size
		s := Section{Name: h.Name, Addr: h.Addr, Size: h.Size, Write: h.Flags&elf.SHF_WRITE != 0}
		s.Exec = h.Flags&elf.SHF_EXECINSTR != 0
		if strings.HasSuffix(s.Name, ".text") { // for ppc64le .init.text is marked as written
			s.Write = s.Write && !s.Exec
		}
		s.Exec = s.Exec && !s.Write // since 6.14 .data is marked as both
		if h.Kind != elf.SHT_NOBITS {
			b, err := o.Bytes(h, loadedMax)
			if err != nil {
				return nil, err
			}
			s.Data = b
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Section) int { return cmp.Compare(a.Addr, b.Addr) })
	for i := 1; i < len(all); i++ {
		if p := &all[i-1]; all[i].Addr-p.Addr < p.Size {
			return nil, fmt.Errorf("sections %s and %s overlap: this is no linked kernel", p.Name, all[i].Name)
		}
	}
	return all, nil
}

// span returns the kernel's address range, without per-CPU data at 0.
func (o *object) span() (lo, hi uint64) {
	lo = ^uint64(0)
	for i := range o.Sections {
		if h := &o.Sections[i]; h.Flags&elf.SHF_ALLOC != 0 && o.class.moves(h.Addr) {
			lo, hi = min(lo, h.Addr), max(hi, h.Addr+h.Size)
		}
	}
	return lo, hi
}
