package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"kpsim/smp/image/elfclass"
)

// A file is an object file as on disk: its sections and symbols, unresolved. debug/elf supplies
// the constants; its File isn't used because it copies every name, and a damaged file can make
// them arbitrarily long.
type file struct {
	*elfclass.Class
	data     []byte
	sections []fileSection
	symbols  []symbol // symbols[0] is the null symbol, so that indices match relocations
}

type fileSection struct {
	name             string
	kind             elf.SectionType
	flags            elf.SectionFlag
	off, size, align uint64
	link, info       uint32
}

type symbol struct {
	name        string
	info        byte
	section     elf.SectionIndex
	value, size uint64
}

// nameMax is the maximum length of a name that is kept. The kernel's KSYM_NAME_LEN is 512, but
// C++ and Rust make longer ones.
const nameMax = 4096

func readFile(data []byte) (*file, error) {
	c, err := checkHeader(data)
	if err != nil {
		return nil, err
	}
	at, has, n, names := c.Headers(data)
	each := uint64(c.Shdr)
	switch {
	case uint64(has) != each || at > uint64(len(data)) || uint64(len(data))-at < uint64(n)*each:
		return nil, fmt.Errorf("can't be read as an ELF object (its section headers end behind the end of the " +
			"file): give the file whole")
	case n == 0 && at != 0:
		return nil, fmt.Errorf("has 65280 sections or more: compile it without -ffunction-sections, or in " +
			"smaller parts")
	}
	f := &file{Class: c, data: data, sections: make([]fileSection, n)}
	for i := range f.sections {
		h := c.Header(data[at+uint64(i)*each:])
		f.sections[i] = fileSection{kind: h.Kind, flags: h.Flags, off: h.Off, size: h.Size, link: h.Link, info: h.Info,
			align: h.Align}
	}
	if err := f.readNames(at, int(names)); err != nil {
		return nil, err
	}
	return f, nil
}

// checkHeader returns an error unless data begins like an x86-64 or i386 object.
func checkHeader(data []byte) (*elfclass.Class, error) {
	switch {
	case len(data) < 20 || string(data[:4]) != elf.ELFMAG:
		what := "no ELF magic"
		switch {
		case bytes.HasPrefix(data, []byte("\xfd7zXZ")), bytes.HasPrefix(data, []byte("\x1f\x8b")),
			bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")):
			return nil, fmt.Errorf("is compressed: unpack it with unxz, gunzip or unzstd")
		case bytes.HasPrefix(data, []byte("!<arch>\n")), bytes.HasPrefix(data, []byte("!<thin>\n")):
			return nil, fmt.Errorf("is an archive of objects: take one out with ar x")
		case bytes.HasPrefix(data, []byte("BC\xc0\xde")):
			what = "LLVM bitcode, compile without -flto"
		case len(data) < 20:
			what = fmt.Sprintf("%d bytes", len(data))
		}
		return nil, fmt.Errorf("can't be read as an ELF object (%s): give a .o file made by gcc -c or as, or a "+
			"kernel module", what)
	case elf.Data(data[5]) == elf.ELFDATA2MSB:
		return nil, fmt.Errorf("big-endian code: compile it for x86-64")
	}
	le := binary.LittleEndian
	kind, machine, c := elf.Type(le.Uint16(data[16:])), elf.Machine(le.Uint16(data[18:])), elfclass.Of(data)
	switch {
	case machine != elf.EM_X86_64 && machine != elf.EM_386:
		return nil, fmt.Errorf("code for %v: compile it for x86-64", machine)
	case c == nil:
		return nil, fmt.Errorf("32-bit code for x86-64 (-mx32), or a damaged header: compile it with -m64 or -m32")
	case len(data) < c.Ehdr:
		return nil, fmt.Errorf("can't be read as an ELF object (%d bytes, its header has %d): give the file whole",
			len(data), c.Ehdr)
	case kind != elf.ET_REL:
		return nil, fmt.Errorf("linked already (%v): give the .o file, as gcc -c makes it", kind)
	}
	return c, nil
}

func (f *file) readNames(headers uint64, names int) error {
	if names == 0 || names >= len(f.sections) {
		return fmt.Errorf("can't be read as an ELF object (its sections have no names): give the file whole, " +
			"not stripped of its section headers")
	}
	b, err := f.contents(names)
	if err != nil {
		return err
	}
	table := string(b)
	for i := range f.sections {
		off := binary.LittleEndian.Uint32(f.data[headers+uint64(i*f.Shdr):])
		name, ok := stringAt(table, off)
		if !ok || name != visible(name) {
			return fmt.Errorf("section %d: its name isn't text of the table of names: the file is damaged", i)
		}
		f.sections[i].name = name
	}
	return nil
}

// stringAt returns the string at an offset of a string table, truncated to nameMax.
func stringAt(table string, off uint32) (string, bool) {
	if uint64(off) >= uint64(len(table)) {
		return "", off == 0
	}
	rest := table[off:]
	n := strings.IndexByte(rest[:min(len(rest), nameMax)], 0)
	switch {
	case n >= 0:
		return rest[:n], true
	case len(rest) > nameMax:
		return rest[:nameMax] + "...", true
	}
	return "", false
}

// visible returns a printable name: other characters than letters, signs and blanks are written
// as in Go, \x01.
func visible(name string) string {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' {
			quoted := strconv.Quote(name)
			return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
		}
	}
	return name
}

// contents returns the bytes of a section in the file.
func (f *file) contents(i int) ([]byte, error) {
	s := &f.sections[i]
	switch n := uint64(len(f.data)); {
	case s.flags&elf.SHF_COMPRESSED != 0:
		return nil, fmt.Errorf("section %s: is compressed: assemble it without compression", s.name)
	case s.kind == elf.SHT_NOBITS:
		return nil, fmt.Errorf("section %s: has no bytes in the file, but should: the file is damaged, or only "+
			"debug information", s.name)
	case s.off > n || s.size > n-s.off:
		return nil, fmt.Errorf("section %s: ends behind the end of the file: the file is truncated", s.name)
	}
	return f.data[s.off : s.off+s.size], nil
}

func (f *file) readSymbols() error {
	table := -1
	for i, s := range f.sections {
		if s.kind == elf.SHT_SYMTAB {
			table = i
			break
		}
	}
	if table < 0 || f.sections[table].size < 2*uint64(f.Sym) {
		return fmt.Errorf("no symbols: a probe needs the name of a function, don't strip the object")
	}
	data, err := f.contents(table)
	if err != nil {
		return err
	}
	if len(data)%f.Sym != 0 || int(f.sections[table].link) >= len(f.sections) {
		return fmt.Errorf("section %s: can't be read as symbols: the file is damaged", f.sections[table].name)
	}
	b, err := f.contents(int(f.sections[table].link))
	if err != nil {
		return err
	}
	names := string(b)
	f.symbols = make([]symbol, len(data)/f.Sym)
	for i := range f.symbols {
		s := f.Symbol(data[i*f.Sym:])
		name, ok := stringAt(names, s.Name)
		if !ok {
			return fmt.Errorf("symbol %d: its name isn't text of the table of names: the file is damaged", i)
		}
		f.symbols[i] = symbol{name: visible(name), info: s.Info, section: s.Section, value: s.Value, size: s.Size}
	}
	return nil
}
