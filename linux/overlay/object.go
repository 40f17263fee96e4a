package overlay

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/smp/image/elfclass"
)

// processors names the supported processors.
var processors = map[elf.Machine]string{elf.EM_X86_64: "x86-64", elf.EM_386: "i386"}

// Limits of the input. kernel/kprobes.o has 85 sections and 300 symbols, and 0.5 MiB with debug
// information.
const (
	filesMax  = 64
	fileMax   = 64 << 20 // bytes of a file
	loadedMax = 64 << 20 // bytes of all sections that are put in memory
	alignMax  = 1 << 21
	nameMax   = 512 // the kernel's KSYM_NAME_LEN
)

// An object is a relocatable file as on disk. Its references were checked: sections lie in the
// file, symbols in sections, relocations in both.
type object struct {
	*elfclass.Class
	name     string // for errors
	sections []section
	symbols  []symbol
}

// A section is one of an object's.
type section struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	size  uint64
	align uint64
	link  uint32
	info  uint32
	data  []byte // of the file; nil: zeros
	rela  []rela

	kept  bool   // it is put in memory
	at    uint64 // its address, if kept
	bytes []byte // contents in memory: data, relocated
}

// A symbol is a symbol of an object. symbols[0] is the null symbol, so that indices match
// relocations.
type symbol struct {
	name  string
	bind  elf.SymBind
	kind  elf.SymType
	index elf.SectionIndex
	value uint64
	size  uint64

	at   uint64 // the address that references use; see bind
	away bool   // references use another copy than the object's
}

// A rela is a relocation with its addend, wherever the file stores that.
type rela struct {
	off    uint64
	kind   elf.R_X86_64 // for i386, the equivalent kind
	symbol uint32
	addend int64
}

// parse reads an object, which must be of the kernel's class.
func parse(name string, file []byte, c *elfclass.Class) (*object, error) {
	o := &object{Class: c, name: name}
	if err := o.readSections(file); err != nil {
		return nil, err
	}
	if err := o.readSymbols(); err != nil {
		return nil, err
	}
	return o, o.readRelas()
}

func (o *object) readSections(file []byte) error {
	le := binary.LittleEndian
	switch {
	case len(file) < o.Ehdr || string(file[:4]) != elf.ELFMAG:
		what := "no ELF file"
		if bytes.HasPrefix(file, []byte("!<arch>\n")) || bytes.HasPrefix(file, []byte("!<thin>\n")) {
			what = "an archive"
		} else if bytes.HasPrefix(file, []byte("BC\xc0\xde")) {
			what = "LLVM bitcode, as CONFIG_LTO_CLANG makes it"
		}
		return fmt.Errorf("is %s: give an object that make made, such as kernel/kprobes.o", what)
	case elfclass.Of(file) != o.Class:
		return fmt.Errorf("is for another processor than the kernel: compile it for %s", processors[o.Machine])
	case elf.Type(le.Uint16(file[16:])) != elf.ET_REL:
		return fmt.Errorf("is linked already (its type is %v): give the object file, kernel/kprobes.o",
			elf.Type(le.Uint16(file[16:])))
	}
	at, has, many, names := o.Headers(file)
	n, each := uint64(many), uint64(o.Shdr)
	if uint64(has) != each || n == 0 || at > uint64(len(file)) || uint64(len(file))-at < n*each || names >= many {
		return fmt.Errorf("has no section headers within the file: it is damaged, compile it again")
	}
	nameAt := make([]uint32, n)
	o.sections = make([]section, n)
	for i := range o.sections {
		h := o.Header(file[at+uint64(i)*each:])
		nameAt[i] = h.Name
		s := &o.sections[i]
		*s = section{kind: h.Kind, flags: h.Flags, size: h.Size, link: h.Link, info: h.Info, align: max(h.Align, 1)}
		if s.kind == elf.SHT_NULL || s.kind == elf.SHT_NOBITS {
			continue
		}
		off := h.Off
		if off > uint64(len(file)) || uint64(len(file))-off < s.size {
			return fmt.Errorf("section %d ends after the end of the file: it is damaged, compile it again", i)
		}
		s.data = file[off : off+s.size : off+s.size]
	}
	for i := range o.sections {
		name, ok := stringAt(o.sections[names].data, nameAt[i])
		if !ok {
			return fmt.Errorf("section %d has no name within the file: it is damaged, compile it again", i)
		}
		o.sections[i].name = name
	}
	return nil
}

// stringAt returns the string at an offset of a table, and whether there is one. Unprintable
// characters, as in the assembler's names of numbered labels, become ?.
func stringAt(table []byte, off uint32) (string, bool) {
	if off == 0 {
		return "", true
	}
	if uint64(off) >= uint64(len(table)) {
		return "", false
	}
	rest := table[off:]
	n := bytes.IndexByte(rest[:min(len(rest), nameMax)], 0)
	if n < 0 {
		return "", false
	}
	return string(bytes.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, rest[:n])), true
}

func (o *object) readSymbols() error {
	table := slices.IndexFunc(o.sections, func(s section) bool { return s.kind == elf.SHT_SYMTAB })
	if table < 0 {
		return fmt.Errorf("has no symbols: don't strip it")
	}
	t := &o.sections[table]
	if int(t.link) >= len(o.sections) || t.size%uint64(o.Sym) != 0 {
		return fmt.Errorf("section %s: isn't a table of symbols: the file is damaged, compile it again", t.name)
	}
	names := o.sections[t.link].data
	o.symbols = make([]symbol, t.size/uint64(o.Sym))
	for i := range o.symbols {
		row := o.Symbol(t.data[i*o.Sym:])
		s := &o.symbols[i]
		*s = symbol{bind: elf.ST_BIND(row.Info), kind: elf.ST_TYPE(row.Info), index: row.Section, value: row.Value,
			size: row.Size}
		var ok bool
		if s.name, ok = stringAt(names, row.Name); !ok {
			return fmt.Errorf("symbol %d: its name isn't in the file, or has more than %d bytes: the file is "+
				"damaged, compile it again", i, nameMax-1)
		}
		if err := o.checkSymbol(s); err != nil {
			return err
		}
	}
	return nil
}

// checkSymbol returns an error unless s lies in a section.
func (o *object) checkSymbol(s *symbol) error {
	switch {
	case s.kind == elf.STT_TLS:
		return fmt.Errorf("%s: is thread-local, which no kernel code is: compile it with the kernel's make", s.name)
	case s.kind == elf.STT_GNU_IFUNC:
		return fmt.Errorf("%s: is chosen by a function when it is linked, which no kernel code is: compile it "+
			"with the kernel's make", s.name)
	case s.index == elf.SHN_COMMON:
		return fmt.Errorf("%s: is a common variable: compile it with -fno-common, as the kernel's make does", s.name)
	case s.index == elf.SHN_UNDEF || s.index == elf.SHN_ABS:
		return nil
	case int(s.index) >= len(o.sections):
		return fmt.Errorf("%s: lies in section %d of %d: the file is damaged, compile it again", s.name, s.index,
			len(o.sections))
	}
	in := &o.sections[s.index]
	if s.value > in.size || s.size > in.size-s.value {
		return fmt.Errorf("%s: ends after the end of section %s: the file is damaged, compile it again", s.name,
			in.name)
	}
	return nil
}

func (o *object) readRelas() error {
	for i := range o.sections {
		s := &o.sections[i]
		if s.kind != elf.SHT_REL && s.kind != elf.SHT_RELA {
			continue
		}
		if int(s.info) >= len(o.sections) || s.kind == o.Rels && s.size%uint64(o.Rel) != 0 {
			return fmt.Errorf("section %s: isn't a table of relocations: the file is damaged, compile it again", s.name)
		}
		to := &o.sections[s.info]
		switch {
		case s.kind == o.Rels:
		case to.flags&elf.SHF_ALLOC == 0:
			continue
		case s.kind == elf.SHT_REL:
			return fmt.Errorf("section %s: has relocations without addends: compile it for %s", s.name,
				processors[o.Machine])
		default:
			return fmt.Errorf("section %s: has relocations with addends: compile it for %s", s.name,
				processors[o.Machine])
		}
		if to.rela != nil {
			return fmt.Errorf("section %s: has two tables of relocations: the file is damaged, compile it again",
				to.name)
		}
		if err := o.readRows(to, s.data); err != nil {
			return fmt.Errorf("section %s: %w", to.name, err)
		}
	}
	return nil
}

// readRows reads the relocations of a section.
func (o *object) readRows(to *section, rows []byte) error {
	to.rela = make([]rela, 0, len(rows)/o.Rel)
	for b := rows; len(b) > 0; b = b[o.Rel:] {
		off, symbol, number := o.Row(b)
		kind, known := o.Reloc(number)
		if kind == elf.R_X86_64_NONE && known {
			continue
		}
		if symbol >= uint64(len(o.symbols)) || off >= to.size || to.data == nil {
			return fmt.Errorf("a relocation at %#x of %#x bytes, symbol %d of %d: the file is damaged, "+
				"compile it again", off, to.size, symbol, len(o.symbols))
		}
		if !known {
			return fmt.Errorf("+%#x: refers to %s: relocation %s isn't one of kernel code: compile it with the "+
				"kernel's make", off, o.called(&o.symbols[symbol]), o.RelocName(number))
		}
		r := rela{off: off, kind: kind, symbol: uint32(symbol)}
		if o.Rels == elf.SHT_RELA {
			r.addend = int64(binary.LittleEndian.Uint64(b[16:]))
		} else if r.addend, known = o.inHole(to, off); !known {
			return fmt.Errorf("+%#x: the hole ends after the section: the file is damaged, compile it again", off)
		}
		to.rela = append(to.rela, r)
	}
	slices.SortStableFunc(to.rela, func(a, b rela) int { return cmp.Compare(a.off, b.off) })
	return nil
}

// inHole reads an addend from its hole. All i386 kinds that Reloc accepts fill a word.
func (o *object) inHole(to *section, off uint64) (addend int64, ok bool) {
	if off > to.size || to.size-off < uint64(o.Word) {
		return 0, false
	}
	return int64(int32(binary.LittleEndian.Uint32(to.data[off:]))), true
}

// section returns the section that a symbol lies in, nil for others.
func (o *object) section(s *symbol) *section {
	if s.index == elf.SHN_UNDEF || int(s.index) >= len(o.sections) {
		return nil
	}
	return &o.sections[s.index]
}

// called returns a symbol's printable name; for a section symbol, the section's.
func (o *object) called(s *symbol) string {
	if in := o.section(s); s.name == "" && in != nil {
		return in.name
	}
	return s.name
}

func (s *section) exec() bool   { return s.flags&elf.SHF_EXECINSTR != 0 }
func (s *section) write() bool  { return s.flags&elf.SHF_WRITE != 0 }
func (s *section) percpu() bool { return hasPrefix(s.name, ".data..percpu") }
