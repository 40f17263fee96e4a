package vmlinux

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
)

// An Image is a kernel, as Open reads it. Once it was moved, or isn't going to be,
// goroutines may share it.
type Image struct {
	Path    string
	Release string   // "6.1.0-50-amd64", as uname -r says
	Banner  string   // the line "Linux version …" that the kernel prints first
	BuildID []byte   // of the notes; nil if there is none
	Digest  [32]byte // SHA-256 of the file

	*class
	sections []Section // by address
	symbols  []Symbol  // by address
	byName   map[string]int32
	lookup   []int32 // symbols that Lookup knows, one an address
	types    *Types
	bugs     func() *bugLayout
	relocs   relocs
	lines    func() (*Lines, error) // reads them when they are first asked for
	delta    int64                  // by which it was moved
	moved    bool
	layer    *Layer // that was laid over it, else nil
}

// Open reads a vmlinux or a vmlinuz.
func Open(path string) (*Image, error) {
	im := &Image{Path: path}
	if err := im.open(path); err != nil {
		var p *os.PathError
		if errors.As(err, &p) { // it names the file
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return im, nil
}

func (im *Image) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("is no file with a kernel: give a vmlinux or a vmlinuz")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return err
	}
	sum.Sum(im.Digest[:0])
	return im.read(f, uint64(info.Size()))
}

// read reads the kernel in r, of size bytes.
func (im *Image) read(r io.ReaderAt, size uint64) error {
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil {
		return fmt.Errorf("has %d bytes: give a vmlinux or a vmlinuz", size)
	}
	onDisk := string(magic[:]) == "\x7fELF"
	var kernel []byte
	if !onDisk {
		var err error
		if kernel, err = im.unwrapped(r, size); err != nil {
			return err
		}
		r, size = bytes.NewReader(kernel), uint64(len(kernel))
	}
	o, err := readObject(r, size)
	if err != nil {
		return err
	}
	o.whole, im.class = kernel, o.class
	if im.sections, err = o.load(); err != nil {
		return err
	}
	im.lines = func() (*Lines, error) { return nil, nil }
	if onDisk {
		im.lines = linesOf(im.Path, o)
	}
	table, err := im.readSymbols(o)
	if err != nil {
		return err
	}
	if err := im.readNames(); err != nil {
		return err
	}
	if im.types, err = im.readTypes(o); err != nil {
		return err
	}
	im.bugs = sync.OnceValue(im.bugLayout)
	if im.relocs, err = o.appended(); err == nil && im.relocs.empty() {
		im.relocs, err = o.emitted(table)
	}
	return err
}

// unwrapped returns the kernel inside the vmlinuz in r, whose digest is im's: what was
// kept of it, or else what unwrap returns.
func (im *Image) unwrapped(r io.ReaderAt, size uint64) ([]byte, error) {
	if im.Digest == ([sha256.Size]byte{}) { // it is no file
		return unwrap(r, size)
	}
	if kernel := kept(im.Digest); kernel != nil {
		return kernel, nil
	}
	kernel, err := unwrap(r, size)
	if err == nil {
		keep(im.Digest, kernel)
	}
	return kernel, err
}

// unwrap returns the kernel inside the vmlinuz in r, of size bytes.
func unwrap(r io.ReaderAt, size uint64) ([]byte, error) {
	if size > loadedMax {
		return nil, fmt.Errorf("is neither an ELF file nor a vmlinuz: give a vmlinux or a vmlinuz")
	}
	file := make([]byte, size)
	if _, err := r.ReadAt(file, 0); err != nil {
		return nil, err
	}
	packed, ok, err := payload(file)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("is neither an ELF file nor a vmlinuz of x86-64 or i386 (it begins with % x): give a vmlinux or a vmlinuz", file[:min(8, len(file))])
	}
	return unpack(packed)
}

// readSymbols reads the tables of kallsyms, which lie in .rodata, and the symbol
// table. One of them must be there.
func (im *Image) readSymbols(o *object) ([]tabled, error) {
	s := im.Section(".rodata")
	if s == nil || s.Data == nil {
		return nil, fmt.Errorf("has no section .rodata: this is no kernel")
	}
	table, err := o.symtab()
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

// readNames reads what the kernel is called.
func (im *Image) readNames() error {
	at := im.Section(".rodata").Data
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

// buildID returns the description of the note GNU 3, nil without one.
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

// Sections returns what is in memory when the kernel runs, by address.
func (im *Image) Sections() []Section { return im.sections }

// Section returns the section of that name, nil without one.
func (im *Image) Section(name string) *Section {
	for i := range im.sections {
		if im.sections[i].Name == name {
			return &im.sections[i]
		}
	}
	return nil
}

// sectionAt returns the section in which n bytes at addr lie, nil without one.
func (im *Image) sectionAt(addr, n uint64) *Section {
	i := sort.Search(len(im.sections), func(i int) bool { return im.sections[i].Addr > addr }) - 1
	if i < 0 || !im.sections[i].contains(addr, n) {
		return nil
	}
	return &im.sections[i]
}

// Bytes returns the n bytes at addr, which are not to be written: nil if they
// don't lie in a section, or in one without data.
func (im *Image) Bytes(addr, n uint64) []byte {
	s := im.sectionAt(addr, n)
	if s == nil || s.Data == nil {
		return nil
	}
	off := addr - s.Addr
	return s.Data[off : off+n : off+n]
}

// cString returns the string at addr, up to 256 bytes of it; ok if it ends there.
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
