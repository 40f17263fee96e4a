package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
)

const (
	objectBytesMax = 64 << 20 // of loaded sections; a .bss can claim any size in a file of 1 KiB
	alignMax       = 1 << 20
)

// An Object is a parsed object file: its sections, functions and relocations,
// not yet at any address. It isn't changed by Place and can be placed often.
type Object struct {
	name     string
	sections []section  // those that are loaded: code first, then data, each in the file's order
	texts    int        // sections[:texts] hold code
	funcs    []function // by section and offset; they don't overlap
}

type section struct {
	name   string
	align  uint64
	data   []byte // zeros for .bss
	relocs []reloc
}

// ParseELF reads a relocatable x86-64 object file. The name is for messages.
func ParseELF(name string, data []byte) (*Object, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: can't be read as an ELF object (%v): give a .o file made by gcc -c or as", name, err)
	}
	if err := checkHeader(name, &f.FileHeader); err != nil {
		return nil, err
	}
	p := parser{f: f, o: &Object{name: name}}
	for _, step := range []func() error{p.loadSections, p.readSymbols, p.readFuncs, p.readRelocs, p.readExtable} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p.o, nil
}

func checkHeader(name string, h *elf.FileHeader) error {
	switch {
	case h.Machine != elf.EM_X86_64 && h.Machine != elf.EM_386:
		return fmt.Errorf("%s: code for %v: compile it for x86-64", name, h.Machine)
	case h.Class != elf.ELFCLASS64 || h.Machine != elf.EM_X86_64 || h.Data != elf.ELFDATA2LSB:
		return fmt.Errorf("%s: 32-bit code: compile it with -m64", name)
	case h.Type != elf.ET_REL:
		return fmt.Errorf("%s: linked already (%v): give the .o file, as gcc -c makes it", name, h.Type)
	}
	return nil
}

// parser holds what is needed only while an object is read.
type parser struct {
	f       *elf.File
	o       *Object
	index   []int // the file's section number to Object.sections, -1 if it isn't loaded
	symbols []elf.Symbol
}

// loadSections picks the sections that are put in memory: all that hold code,
// whatever they are called, and the data sections that a compiler's code
// refers to. Notes, unwind tables and the kernel's tables are left out.
func (p *parser) loadSections() error {
	p.index = make([]int, len(p.f.Sections))
	for i := range p.index {
		p.index[i] = -1
	}
	total := uint64(0)
	for _, text := range []bool{true, false} {
		for i, s := range p.f.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 || (s.Flags&elf.SHF_EXECINSTR != 0) != text || !text && !isData(s.Name) {
				continue
			}
			if total += s.Size; s.Size > objectBytesMax || total > objectBytesMax {
				return fmt.Errorf("section %s: more than %d MiB of code and data: take what is probed out into a smaller file", s.Name, objectBytesMax>>20)
			}
			sec, err := loadSection(s)
			if err != nil {
				return err
			}
			p.index[i] = len(p.o.sections)
			p.o.sections = append(p.o.sections, sec)
		}
		if text {
			p.o.texts = len(p.o.sections)
		}
	}
	if p.o.texts == 0 {
		return fmt.Errorf("holds no code: give an object with a .text section")
	}
	return nil
}

func isData(name string) bool {
	return strings.HasPrefix(name, ".rodata") || strings.HasPrefix(name, ".data") || strings.HasPrefix(name, ".bss")
}

func loadSection(s *elf.Section) (section, error) {
	sec := section{name: s.Name, align: max(s.Addralign, 1)}
	if sec.align&(sec.align-1) != 0 || sec.align > alignMax {
		return sec, fmt.Errorf("section %s: alignment %#x: must be a power of two, at most %#x", s.Name, s.Addralign, alignMax)
	}
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return sec, fmt.Errorf("section %s: is compressed: assemble it without compression", s.Name)
	}
	if s.Type == elf.SHT_NOBITS {
		sec.data = make([]byte, s.Size)
		return sec, nil
	}
	data, err := s.Data()
	if err != nil || uint64(len(data)) != s.Size {
		return sec, fmt.Errorf("section %s: ends behind the end of the file: the file is truncated", s.Name)
	}
	sec.data = data
	return sec, nil
}

func (p *parser) readSymbols() error {
	symbols, err := p.f.Symbols()
	if err != nil {
		return fmt.Errorf("no symbols (%v): don't strip the object", err)
	}
	p.symbols = symbols
	return nil
}

// section returns which loaded section the file's section number is, -1 if none.
func (p *parser) section(i elf.SectionIndex) int {
	if i <= 0 || int(i) >= len(p.index) {
		return -1
	}
	return p.index[i]
}
