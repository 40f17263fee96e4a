package objfile

import (
	"debug/elf"
	"fmt"
	"io"
)

// A File is an ELF file whose headers were read. What they name is checked when it is read.
type File struct {
	*Class
	Sections []Section

	r     io.ReaderAt
	size  uint64
	whole []byte // the file, if it is in memory
	end   uint64 // of the section headers
	again string
}

// A Section is a section's header.
type Section struct {
	Name                         string
	Kind                         elf.SectionType
	Flags                        elf.SectionFlag
	Addr, Off, Size, Align, Each uint64
	Link, Info                   uint32
}

// tableMax is the maximum size of a table of names, symbols or relocations, in bytes. A kernel's
// symbols have 10 MiB.
const tableMax = 256 << 20

// Read reads the section headers of a file in r, of size bytes. whole is the file if it is in
// memory; otherwise nil. The caller has checked that the file header is of the class. again is
// the remedy for a damaged file: "compile it again".
func Read(c *Class, r io.ReaderAt, size uint64, whole []byte, again string) (*File, error) {
	f := &File{Class: c, r: r, size: size, whole: whole, again: again}
	h := make([]byte, c.Ehdr)
	if size < uint64(len(h)) {
		return nil, fmt.Errorf("%d bytes, its header has %d: give the file whole", size, len(h))
	}
	if _, err := r.ReadAt(h, 0); err != nil {
		return nil, err
	}
	tail := h[c.Ehdr-6:]
	at, each := c.Words(h, 24, 3)[2], uint64(c.Order.Uint16(tail))
	n, names := uint64(c.Order.Uint16(tail[2:])), uint64(c.Order.Uint16(tail[4:]))
	switch {
	case n == 0 && at != 0:
		return nil, fmt.Errorf("has 65280 sections or more: compile it without -ffunction-sections, or in " +
			"smaller parts")
	case n == 0 || each != uint64(c.Shdr) || at > size || size-at < n*each:
		return nil, fmt.Errorf("has no section headers, or they end behind the end of the file: give the file " +
			"whole, and not stripped of its sections")
	}
	raw := make([]byte, n*each)
	if _, err := r.ReadAt(raw, int64(at)); err != nil {
		return nil, fmt.Errorf("section headers: %w", err)
	}
	f.end, f.Sections = at+n*each, make([]Section, n)
	for i := range f.Sections {
		f.Sections[i] = c.section(raw[i*c.Shdr:])
	}
	return f, f.nameSections(raw, names)
}

// section reads a section header, except the name.
func (c *Class) section(h []byte) Section {
	first, rest := c.Words(h, 8, 4), h[8+4*c.Word:]
	last := c.Words(rest, 8, 2)
	return Section{
		Kind: elf.SectionType(c.Order.Uint32(h[4:])), Flags: elf.SectionFlag(first[0]),
		Addr: first[1], Off: first[2], Size: first[3],
		Link: c.Order.Uint32(rest), Info: c.Order.Uint32(rest[4:]), Align: last[0], Each: last[1],
	}
}

// nameSections reads the names of the sections, whose headers are raw.
func (f *File) nameSections(raw []byte, table uint64) error {
	if table == 0 || table >= uint64(len(f.Sections)) {
		return fmt.Errorf("its sections have no names: give the file whole, not stripped of its section headers")
	}
	names, err := f.names(uint32(table))
	if err != nil {
		return err
	}
	for i := range f.Sections {
		name, ok := stringAt(names, f.Order.Uint32(raw[i*f.Shdr:]))
		if !ok || name != visible(name) {
			return f.damaged("section %d: its name isn't text of the table of names", i)
		}
		f.Sections[i].Name = name
	}
	return nil
}

// damaged returns an error about a file that no compiler or linker makes.
func (f *File) damaged(format string, args ...any) error {
	return fmt.Errorf(format+": the file is damaged, "+f.again, args...)
}

// Find returns the first section of that name, or nil.
func (f *File) Find(name string) *Section {
	for i := range f.Sections {
		if f.Sections[i].Name == name {
			return &f.Sections[i]
		}
	}
	return nil
}

// Bytes returns a section's bytes in the file, at most limit. For a file in memory they aren't
// copied.
func (f *File) Bytes(s *Section, limit uint64) ([]byte, error) {
	switch err := f.within(s); {
	case err != nil:
		return nil, err
	case s.Flags&elf.SHF_COMPRESSED != 0:
		return nil, fmt.Errorf("section %s: is compressed: %s, without compression", s.Name, f.again)
	case s.Kind == elf.SHT_NOBITS:
		return nil, fmt.Errorf("section %s: has no bytes in the file, but should: the file is damaged, or only "+
			"debug information", s.Name)
	case s.Size > limit:
		return nil, f.damaged("section %s: has %d MiB, more than the %d MiB that are read", s.Name, s.Size>>20,
			limit>>20)
	case f.whole != nil:
		return f.whole[s.Off : s.Off+s.Size : s.Off+s.Size], nil
	}
	b := make([]byte, s.Size)
	if _, err := f.r.ReadAt(b, int64(s.Off)); err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}

// Part returns a section's bytes that are read when they are needed, from r, the same file. End has
// been called.
func (f *File) Part(r io.ReaderAt, s *Section) *io.SectionReader {
	return io.NewSectionReader(r, int64(s.Off), int64(s.Size))
}

// within returns an error if a section's bytes don't lie in the file.
func (f *File) within(s *Section) error {
	if s.Kind != elf.SHT_NULL && s.Kind != elf.SHT_NOBITS && (s.Off > f.size || s.Size > f.size-s.Off) {
		return fmt.Errorf("section %s: ends behind the end of the file: the file is truncated, %s", s.Name, f.again)
	}
	return nil
}

// End returns the offset of the end of everything that the headers name. It returns an error if
// that isn't in the file.
func (f *File) End() (uint64, error) {
	end := f.end
	for i := range f.Sections {
		s := &f.Sections[i]
		if err := f.within(s); err != nil {
			return 0, err
		}
		if s.Kind != elf.SHT_NULL && s.Kind != elf.SHT_NOBITS {
			end = max(end, s.Off+s.Size)
		}
	}
	return end, nil
}
