package vmlinux

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// A flat image is what a boot loader copies to memory as it is: the kernel from its first byte on,
// without sections. It begins with a header of 64 bytes, which is also that of a PE file
// (Documentation/arch/riscv/boot-image-header.rst, Documentation/arch/arm64/booting.rst).

// A flat is the form of a processor's flat images.
type flat struct {
	magic string // at flatMagic
	base  uint64 // the link address of the first byte
}

// Offsets in the header of a flat image, in bytes.
const (
	flatSize   = 16 // the size in memory, with what begins as zeros
	flatMagic  = 0x38
	flatHeader = 0x40
)

// flatOf returns the class of a flat image from its first bytes; nil if it is none.
func flatOf(head []byte) *class {
	for _, c := range classes {
		if c.flat != nil && len(head) >= flatHeader && string(head[flatMagic:][:len(c.flat.magic)]) == c.flat.magic {
			return c
		}
	}
	return nil
}

// A bound is a part of a flat image between two symbols, under the name of the section that the
// linker made it from. Of several symbols the first that the kernel has is taken.
type bound struct {
	name     string
	from, to []string
	exec     bool
	write    bool
}

// flatSections are the parts that differ in what may be done with them. What lies between them is
// data.
var flatSections = []bound{
	{".text", []string{"_stext"}, []string{"_etext"}, true, false},
	{".init.text", []string{"_sinittext"}, []string{"_einittext"}, true, false},
	{".rodata", []string{"__start_rodata"}, []string{"__end_rodata"}, false, false},
}

// flatViews are parts of those, or of data. A view shares its bytes with the section that it is in.
var flatViews = []bound{
	{name: ".data..percpu", from: []string{"__per_cpu_start"}, to: []string{"__per_cpu_end"}, write: true},
	{name: ".BTF", from: []string{"__start_BTF"}, to: []string{"__stop_BTF"}},
	{name: ".notes", from: []string{"__start_notes"}, to: []string{"__stop_notes"}},
	{name: "__ex_table", from: []string{"__start___ex_table"}, to: []string{"__stop___ex_table"}},
	{name: "__bug_table", from: []string{"__start___bug_table"}, to: []string{"__stop___bug_table"}, write: true},
	{name: ".altinstructions", from: []string{"__alt_start", "__alt_instructions"},
		to: []string{"__alt_end", "__alt_instructions_end"}},
}

// readFlat reads a flat image in r, of size bytes; whole is the complete file if it is in memory.
func (im *Image) readFlat(r io.ReaderAt, size uint64, whole []byte, c *class) error {
	if size > vmlinuzMost {
		return fmt.Errorf("has %d MiB, and an image at most %d: this is no kernel", size>>20, vmlinuzMost>>20)
	}
	if whole == nil {
		whole = make([]byte, size)
		if _, err := r.ReadAt(whole, 0); err != nil {
			return err
		}
	}
	memory := binary.LittleEndian.Uint64(whole[flatSize:])
	if memory < size || memory > loadedMax {
		return fmt.Errorf("image header: %d bytes of memory for a file of %d: give the file whole", memory, size)
	}
	im.class = c
	all := Section{Name: "image", Addr: c.flat.base, Size: memory, Data: whole}
	var err error
	im.symbols, err = readKallsyms(&all, c)
	switch {
	case err != nil && size < memory/2: // what isn't in the file is .bss, a few MiB
		return fmt.Errorf("image header: %d MiB of memory for a file of %d KiB: the file is cut; get it again",
			memory>>20, size>>10)
	case err != nil:
		return err
	}
	im.cutFlat(&all)
	im.indexSymbols()
	im.lines = func() (*Lines, error) { return nil, nil }
	return im.readRest(nil, nil)
}

// cutFlat makes the sections and the views of a flat image.
func (im *Image) cutFlat(all *Section) {
	at := make(map[string]uint64, len(im.symbols))
	for i := range im.symbols {
		if s := &im.symbols[i]; at[s.Name] == 0 {
			at[s.Name] = s.Addr
		}
	}
	cut := func(b *bound) (Section, bool) {
		from, to := firstOf(at, b.from), firstOf(at, b.to)
		if from < all.Addr || to <= from || to > all.Addr+uint64(len(all.Data)) {
			return Section{}, false
		}
		return Section{Name: b.name, Addr: from, Size: to - from, Data: all.Data[from-all.Addr : to-all.Addr],
			Exec: b.exec, Write: b.write}, true
	}
	var own []Section
	for i := range flatSections {
		if s, ok := cut(&flatSections[i]); ok {
			own = append(own, s)
		}
	}
	slices.SortStableFunc(own, func(a, b Section) int { return cmp.Compare(a.Addr, b.Addr) })
	next := all.Addr
	for i := range own {
		im.addData(all, next, own[i].Addr)
		im.sections = append(im.sections, own[i])
		next = own[i].Addr + own[i].Size
	}
	im.addData(all, next, all.Addr+uint64(len(all.Data)))
	if rest := all.Size - uint64(len(all.Data)); rest > 0 {
		im.sections = append(im.sections, Section{Name: ".bss", Addr: all.Addr + uint64(len(all.Data)), Size: rest,
			Write: true})
	}
	for i := range flatViews {
		if s, ok := cut(&flatViews[i]); ok {
			im.views = append(im.views, s)
		}
	}
	if im.Section(".BTF") == nil {
		im.findTypes(all)
	}
}

// addData adds a section of data from one address to another, if there is anything between.
func (im *Image) addData(all *Section, from, to uint64) {
	if from < to {
		im.sections = append(im.sections, Section{Name: ".data", Addr: from, Size: to - from,
			Data: all.Data[from-all.Addr : to-all.Addr], Write: true})
	}
}

// The header of BTF: its magic, version 1, no flags, and the size of the header
// (include/uapi/linux/btf.h).
var btfHeader = []byte{0x9f, 0xeb, 1, 0, 24, 0, 0, 0}

// findTypes looks for BTF in the image of a kernel that names no data (CONFIG_KALLSYMS_ALL off).
func (im *Image) findTypes(all *Section) {
	for at := 0; at < len(all.Data); at++ {
		i := bytes.Index(all.Data[at:], btfHeader)
		if i < 0 || len(all.Data)-at-i < 24 {
			return
		}
		at += i
		word := func(n int) uint64 { return uint64(binary.LittleEndian.Uint32(all.Data[at+n:])) }
		size := 24 + max(word(8)+word(12), word(16)+word(20))
		if size > btfLeast && size <= uint64(len(all.Data)-at) {
			im.views = append(im.views, Section{Name: ".BTF", Addr: all.Addr + uint64(at), Size: size,
				Data: all.Data[at:][:size]})
			return
		}
	}
}

// btfLeast is the least size in bytes of a kernel's types: programs of BPF in an image have BTF,
// too.
const btfLeast = 1 << 20

// firstOf returns the address of the first of the names that there is, or 0.
func firstOf(at map[string]uint64, names []string) uint64 {
	for _, name := range names {
		if at[name] != 0 {
			return at[name]
		}
	}
	return 0
}

// finder returns a finder of addresses of the kernel, and of its per-CPU data if that doesn't move.
func (im *Image) finder() finder {
	f := finder{im: im}
	for i := range im.sections {
		if s := &im.sections[i]; im.moves(s) {
			if f.lo == 0 {
				f.lo = s.Addr
			}
			f.hi = s.Addr + s.Size
		}
	}
	return f
}

// A finder looks for addresses from lo up to hi, and for per-CPU addresses below perCPU.
type finder struct {
	im     *Image
	lo, hi uint64
	perCPU uint64
	found  relocs
}

func (f *finder) data(s *Section) {
	for off := int(-s.Addr & 7); off+8 <= len(s.Data); off += 8 {
		if v := binary.LittleEndian.Uint64(s.Data[off:]); v >= f.lo && v <= f.hi {
			f.found.add64 = append(f.found.add64, s.Addr+uint64(off))
		}
	}
}

// recoveredData is recovered for a processor whose code has no addresses in it: it reaches all of
// the kernel from where it stands.
func (im *Image) recoveredData() relocs {
	f := im.finder()
	for i := range im.sections {
		if s := &im.sections[i]; s.Data != nil && !s.Exec {
			f.data(s)
		}
	}
	return f.found
}
