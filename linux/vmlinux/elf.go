package vmlinux

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
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
}

// contains reports whether n bytes at addr lie inside.
func (s *Section) contains(addr, n uint64) bool {
	return addr >= s.Addr && addr-s.Addr <= s.Size && s.Size-(addr-s.Addr) >= n
}

// A header is a section header of the file.
type header struct {
	name            string
	kind            elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
	link, info      uint32
	entry           uint64
}

// An object is an ELF file, possibly inside another file. Its headers were checked: except for
// NOBITS, the sections lie within size bytes of r.
type object struct {
	*class
	r       io.ReaderAt
	whole   []byte // the file, if it is in memory
	size    uint64
	end     uint64 // of everything the headers name; relocations may follow
	headers []header
}

// nameMax is the maximum length of a section name, in bytes.
const nameMax = 256

// executable returns the class of an executable from its first bytes.
func executable(h []byte) (*class, error) {
	if len(h) < class64.Ehdr {
		return nil, fmt.Errorf("ends inside its ELF header: give the file whole")
	}
	c := classOf(h)
	switch kind := elf.Type(binary.LittleEndian.Uint16(h[16:])); {
	case string(h[:4]) != elf.ELFMAG:
		return nil, fmt.Errorf("is no ELF file: give a vmlinux, or a vmlinuz of x86-64 or i386")
	case c == nil:
		return nil, fmt.Errorf("is an ELF file of another processor: give a kernel of x86-64 or i386")
	case kind != elf.ET_EXEC:
		return nil, fmt.Errorf("is an ELF file, but no linked kernel (its type is %v): give the vmlinux at the "+
			"root of the build", kind)
	}
	return c, nil
}

// readObject reads the headers of the x86-64 or i386 executable in r, of size bytes.
func readObject(r io.ReaderAt, size uint64) (*object, error) {
	h := make([]byte, min(size, uint64(class64.Ehdr)))
	if _, err := r.ReadAt(h, 0); err != nil {
		return nil, err
	}
	c, err := executable(h)
	if err != nil {
		return nil, err
	}
	at, has, many, names := c.Headers(h)
	n, each := uint64(many), uint64(c.Shdr)
	if uint64(has) != each || n == 0 || at > size || size-at < n*each {
		return nil, fmt.Errorf("has no section headers, or they end after the end of the file: give the file " +
			"whole, and not stripped of its sections")
	}
	raw := make([]byte, n*each)
	if _, err := r.ReadAt(raw, int64(at)); err != nil {
		return nil, fmt.Errorf("section headers: %w", err)
	}
	o := &object{class: c, r: r, size: size, end: at + n*each, headers: make([]header, n)}
	nameAt := make([]uint32, n)
	for i := range o.headers {
		h := c.Header(raw[i*c.Shdr:])
		nameAt[i] = h.Name
		o.headers[i] = header{kind: h.Kind, flags: h.Flags, addr: h.Addr, off: h.Off, size: h.Size, link: h.Link,
			info: h.Info, entry: h.Entry}
		s := &o.headers[i]
		if s.kind == elf.SHT_NULL || s.kind == elf.SHT_NOBITS {
			continue
		}
		if s.off > size || size-s.off < s.size {
			return nil, fmt.Errorf("section %d of %d ends after the end of the file: give the file whole", i, n)
		}
		o.end = max(o.end, s.off+s.size)
	}
	if int(names) >= len(o.headers) {
		return nil, fmt.Errorf("has no section names: give a vmlinux that isn't stripped of them")
	}
	return o, o.readNames(nameAt, &o.headers[names])
}

// readNames sets the names of the sections, given their offsets in the table.
func (o *object) readNames(at []uint32, table *header) error {
	if table.kind != elf.SHT_STRTAB || table.size > 1<<20 {
		return fmt.Errorf("section names: there is no table of them, or it has more than 1 MiB: give a vmlinux " +
			"as it was linked")
	}
	b := make([]byte, table.size)
	if _, err := o.r.ReadAt(b, int64(table.off)); err != nil {
		return fmt.Errorf("section names: %w", err)
	}
	for i, off := range at {
		if uint64(off) < table.size {
			name := b[off:]
			if end := bytes.IndexByte(name[:min(len(name), nameMax)], 0); end > 0 {
				o.headers[i].name = string(name[:end])
			}
		}
	}
	return nil
}

// read returns a section's bytes, at most limit. For a file in memory they aren't copied.
func (o *object) read(s *header, limit uint64) ([]byte, error) {
	if s.kind == elf.SHT_NOBITS || s.flags&elf.SHF_COMPRESSED != 0 {
		return nil, fmt.Errorf("section %s: has no bytes, or compressed ones: link the kernel without "+
			"compressed sections", s.name)
	}
	if s.size > limit {
		return nil, fmt.Errorf("section %s: has %d MiB, more than the %d MiB that are read: this is no kernel", s.name,
			s.size>>20, limit>>20)
	}
	if o.whole != nil {
		return o.whole[s.off : s.off+s.size : s.off+s.size], nil
	}
	b := make([]byte, s.size)
	if _, err := o.r.ReadAt(b, int64(s.off)); err != nil {
		return nil, fmt.Errorf("section %s: %w", s.name, err)
	}
	return b, nil
}

// load reads the sections that are in memory at run time, by address.
func (o *object) load() ([]Section, error) {
	var all []Section
	left := uint64(loadedMax)
	for i := range o.headers {
		h := &o.headers[i]
		if h.flags&elf.SHF_ALLOC == 0 || h.size == 0 {
			continue
		}
		if h.addr+h.size < h.addr || h.addr+h.size-1 > o.mask {
			return nil, fmt.Errorf("section %s: wraps around the address space: this is no kernel", h.name)
		}
		if h.size > left {
			return nil, fmt.Errorf("section %s: the kernel has more than %d MiB: that isn't supported", h.name,
				loadedMax>>20)
		}
		left -= h.size
		s := Section{Name: h.name, Addr: h.addr, Size: h.size, Write: h.flags&elf.SHF_WRITE != 0}
		s.Exec = h.flags&elf.SHF_EXECINSTR != 0 && !s.Write // since 6.14 .data is marked as both
		if h.kind != elf.SHT_NOBITS {
			b, err := o.read(h, loadedMax)
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
	for i := range o.headers {
		if h := &o.headers[i]; h.flags&elf.SHF_ALLOC != 0 && o.moves(h.addr) {
			lo, hi = min(lo, h.addr), max(hi, h.addr+h.size)
		}
	}
	return lo, hi
}
