package vmlinux

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"

	"kpsim/internal/kept"
	"kpsim/internal/regular"
	"kpsim/smp/image/objfile"
)

// An Image is a kernel opened by Open. After Move and Lay, if they are called at all, goroutines
// may share it.
type Image struct {
	Path    string
	Release string   // "6.1.0-50-amd64", as printed by uname -r
	Banner  string   // the kernel's first message, "Linux version …"
	BuildID []byte   // from the notes; nil if absent
	Digest  [32]byte // SHA-256 of the file

	*class
	sections []Section // by address
	views    []Section // parts of those that have names of their own
	symbols  []Symbol  // by address
	byName   map[string]int32
	lookup   []int32 // indices of the symbols that Lookup returns, one for each address
	types    *Types
	bugs     func() *bugLayout
	relocs   relocs
	lines    func() (*Lines, error) // read on first use
	delta    int64                  // distance of Move
	moved    bool
	layer    *Layer // the layer laid over it; nil: none
}

// Open reads a vmlinux or a vmlinuz.
func Open(path string) (*Image, error) {
	im := &Image{Path: path}
	if err := im.open(path); err != nil {
		var p *os.PathError
		if errors.As(err, &p) { // it already names the file
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return im, nil
}

func (im *Image) open(path string) error {
	f, info, err := regular.Open(path)
	if regular.IsNot(err) {
		return fmt.Errorf("is no file with a kernel: give a vmlinux or a vmlinuz")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size := uint64(info.Size())
	packed, err := packedIn(f, size)
	if err != nil {
		return err
	}
	if packed == nil {
		if err := im.read(f, size, nil); err != nil {
			return err
		}
		return im.sum(io.NewSectionReader(f, 0, info.Size()))
	}
	if err := im.sum(bytes.NewReader(packed.file)); err != nil {
		return err
	}
	kernel := unpacked.Get(kept.Key(im.Digest))
	if kernel != nil {
		return im.read(bytes.NewReader(kernel), uint64(len(kernel)), kernel)
	}
	if kernel, err = im.unpack(packed.payload); err == nil {
		keep(im.Digest, kernel) // which is one, since it was read
	}
	return err
}

// sum computes Digest.
func (im *Image) sum(file io.Reader) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	sum.Sum(im.Digest[:0])
	return nil
}

// unpack decompresses the kernel in a payload.
func (im *Image) unpack(payload []byte) (kernel []byte, err error) {
	if kernel, err = unpack(payload); err != nil {
		return nil, err
	}
	return kernel, im.read(bytes.NewReader(kernel), uint64(len(kernel)), kernel)
}

// A vmlinuz is a file with a compressed kernel.
type vmlinuz struct{ file, payload []byte }

// The maximum sizes of files, in bytes. A vmlinux with all modules and DWARF has a few GiB.
const (
	vmlinuxMost = 16 << 30
	vmlinuzMost = 256 << 20
)

// packedIn returns the vmlinuz in r, of size bytes, or nil for an ELF file. It reads the file
// only if the headers are those of a vmlinuz.
func packedIn(r io.ReaderAt, size uint64) (*vmlinuz, error) {
	head := make([]byte, min(size, bootHeader))
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, err
	}
	switch {
	case len(head) < len(elf.ELFMAG):
		return nil, fmt.Errorf("has %d bytes: give a vmlinux or a vmlinuz", size)
	case strings.HasPrefix(string(head), elf.ELFMAG) && size > vmlinuxMost:
		return nil, fmt.Errorf("has %d GiB: this is no kernel", size>>30)
	case strings.HasPrefix(string(head), elf.ELFMAG), flatOf(head) != nil:
		return nil, nil
	}
	at, n, err := payload(head, size)
	switch {
	case err != nil:
		return nil, err
	case n == 0 && packedBy(head) != "":
		return nil, fmt.Errorf("is packed with %s alone, as no vmlinuz is: unpack it, and give what comes out",
			packedBy(head))
	case n == 0:
		return nil, fmt.Errorf("is neither an ELF file nor a vmlinuz of %s (it begins with % x): "+
			"give a vmlinux or a vmlinuz", processors(), head[:min(8, len(head))])
	case size > vmlinuzMost:
		return nil, fmt.Errorf("has %d MiB, and a vmlinuz at most %d: this is no kernel", size>>20, vmlinuzMost>>20)
	}
	file := make([]byte, size)
	if _, err := r.ReadAt(file, 0); err != nil {
		return nil, err
	}
	return &vmlinuz{file, file[at : at+n]}, nil
}

// read reads the kernel in r, of size bytes; whole is the complete file if it is in memory.
func (im *Image) read(r io.ReaderAt, size uint64, whole []byte) error {
	head := make([]byte, min(size, flatHeader))
	if _, err := r.ReadAt(head, 0); err != nil {
		return err
	}
	if c := flatOf(head); c != nil {
		return im.readFlat(r, size, whole, c)
	}
	o, err := readObject(r, size, whole)
	if err != nil {
		return err
	}
	im.class = o.class
	if im.sections, err = o.load(); err != nil {
		return err
	}
	im.lines = func() (*Lines, error) { return nil, nil }
	if whole == nil {
		im.lines = linesOf(im.Path, o)
	}
	table, err := im.readSymbols(o)
	if err != nil {
		return err
	}
	return im.readRest(o, table)
}

// readRest reads what needs the symbols. o is nil for a flat image.
func (im *Image) readRest(o *object, table []objfile.Symbol) (err error) {
	if err := im.readNames(); err != nil {
		return err
	}
	if im.types, err = im.readTypes(o); err != nil {
		return err
	}
	im.bugs = sync.OnceValue(im.bugLayout)
	if o == nil {
		return nil
	}
	if im.relocs, err = o.appended(); err == nil && im.relocs.empty() {
		im.relocs, err = o.emitted(table)
	}
	if err == nil && im.relocs.empty() {
		im.relocs, err = o.dynamic()
	}
	return err
}

// readSymbols reads the kallsyms tables in .rodata and the symbol table. At least one of them
// must exist.
func (im *Image) readSymbols(o *object) ([]objfile.Symbol, error) {
	s := im.Section(".rodata")
	if s == nil || s.Data == nil {
		return nil, fmt.Errorf("has no section .rodata: this is no kernel")
	}
	table, err := o.Symbols()
	if err != nil {
		return nil, err
	}
	if im.symbols, err = readKallsyms(s, o.class); err != nil && table == nil {
		return nil, err
	}
	im.merge(table)
	im.indexSymbols()
	return table, nil
}

// readNames reads the release and the banner.
func (im *Image) readNames() error {
	var at []byte
	for i := range im.sections {
		if s := &im.sections[i]; s.Name == ".rodata" || im.class.flat != nil && at == nil &&
			bytes.Contains(s.Data, []byte("Linux version ")) {
			at = s.Data
		}
	}
	if s, ok := im.Symbol("linux_banner"); ok {
		at = im.Bytes(s.Addr, s.Size)
	}
	if i := bytes.Index(at, []byte("Linux version ")); i >= 0 {
		line := at[i:min(len(at), i+1024)]
		if end := bytes.IndexAny(line, "\n\x00"); end >= 0 {
			line = line[:end]
		}
		im.Banner = strings.ToValidUTF8(string(line), "?")
	}
	if words := strings.Fields(im.Banner); len(words) > 2 {
		im.Release = words[2]
	}
	if im.Release == "" {
		return fmt.Errorf(".rodata: no line \"Linux version …\": this is no kernel")
	}
	if s := im.Section(".notes"); s != nil {
		im.BuildID = buildID(s.Data)
	}
	return nil
}

// buildID returns the build ID from the notes (GNU, type 3), or nil.
func buildID(notes []byte) []byte {
	le := binary.LittleEndian
	for len(notes) >= 12 {
		name, desc, kind := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:])), le.Uint32(notes[8:])
		at := 12 + (name+3)&^3
		end := at + (desc+3)&^3
		if end > uint64(len(notes)) {
			return nil
		}
		if kind == 3 && name == 4 && string(notes[12:16]) == "GNU\x00" {
			return bytes.Clone(notes[at : at+desc])
		}
		notes = notes[end:]
	}
	return nil
}

// Sections returns the sections that are in memory at run time, by address.
func (im *Image) Sections() []Section { return im.sections }

// Section returns the section of that name, or nil.
func (im *Image) Section(name string) *Section {
	if all := Named(im, name); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Named returns the sections of a kernel that have one of the names: its own first, then those of objects laid
// over it.
func Named(im *Image, names ...string) (list []*Section) {
	for _, in := range [][]Section{im.views, im.sections} {
		for i := range in {
			if slices.Contains(names, in[i].Name) {
				list = append(list, &in[i])
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Section) int {
		switch {
		case a.laid == b.laid:
			return 0
		case a.laid:
			return 1
		}
		return -1
	})
	return list
}

// sectionAt returns the section that contains n bytes at addr, or nil.
func (im *Image) sectionAt(addr, n uint64) *Section {
	i := sort.Search(len(im.sections), func(i int) bool { return im.sections[i].Addr > addr }) - 1
	if i < 0 || !im.sections[i].contains(addr, n) {
		return nil
	}
	return &im.sections[i]
}

// Bytes returns the n bytes at addr, which must not be modified. It returns nil if they don't lie
// in one section, or if that has no data.
func (im *Image) Bytes(addr, n uint64) []byte {
	s := im.sectionAt(addr, n)
	if s == nil || s.Data == nil {
		return nil
	}
	off := addr - s.Addr
	return s.Data[off : off+n : off+n]
}

// Text returns the string at addr, at most 256 bytes; "" if there is none.
func (im *Image) Text(addr uint64) string {
	s, _ := im.cString(addr)
	return s
}

// cString returns the string at addr, at most 256 bytes. ok reports whether it was complete.
func (im *Image) cString(addr uint64) (string, bool) {
	s := im.sectionAt(addr, 1)
	if s == nil || s.Data == nil {
		return "", false
	}
	b := s.Data[addr-s.Addr:]
	end := bytes.IndexByte(b[:min(len(b), 256)], 0)
	if end < 0 {
		return "", false
	}
	return string(b[:end]), true
}
