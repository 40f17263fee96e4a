package overlay

import (
	"bytes"
	"debug/elf"
	"fmt"

	"kpsim/linux/vmlinux"
	"kpsim/smp/image/objfile"
)

// Limits of the input. kernel/kprobes.o has 85 sections and 300 symbols, and 0.5 MiB with debug
// information.
const (
	filesMax  = 64
	fileMax   = 64 << 20 // bytes of a file
	loadedMax = 64 << 20 // bytes of all sections that are put in memory
	alignMax  = 1 << 21
)

// An object is a relocatable file as on disk. Its references were checked: sections lie in the
// file, symbols in sections, relocations in both.
type object struct {
	*objfile.Class
	name     string // for errors
	sections []section
	symbols  []symbol
}

// A section is one of an object's.
type section struct {
	*objfile.Section
	data []byte // of the file; nil: zeros
	rela []objfile.Reloc

	kept  bool   // it is put in memory
	at    uint64 // its address, if kept
	bytes []byte // contents in memory: data, relocated
}

// A symbol is a symbol of an object. symbols[0] is the null symbol, so that indices match
// relocations.
type symbol struct {
	objfile.Symbol

	at   uint64 // the address that references use; see bind
	near uint64 // how far behind it branches of code with the same TOC lead
	away bool   // references use another copy than the object's
}

// parse reads an object, which must be of the kernel's class.
func parse(name string, file []byte, im *vmlinux.Image) (*object, error) {
	c := im.Class()
	if err := checkHeader(file, im); err != nil {
		return nil, err
	}
	f, err := objfile.Read(c, bytes.NewReader(file), uint64(len(file)), file, "compile it again")
	if err != nil {
		return nil, err
	}
	o := &object{Class: c, name: name, sections: make([]section, len(f.Sections))}
	for i := range o.sections {
		s := &o.sections[i]
		s.Section = &f.Sections[i]
		s.Align = max(s.Align, 1)
		if s.inFile() {
			if s.data, err = f.Bytes(s.Section, fileMax); err != nil {
				return nil, err
			}
		}
	}
	symbols, err := f.Symbols()
	switch {
	case err != nil:
		return nil, err
	case symbols == nil:
		return nil, fmt.Errorf("has no symbols: don't strip it")
	}
	o.symbols = make([]symbol, len(symbols))
	for i := range o.symbols {
		o.symbols[i].Symbol = symbols[i]
		if err := o.checkSymbol(&o.symbols[i]); err != nil {
			return nil, err
		}
	}
	relas, err := f.Relocs(len(symbols), func(s *objfile.Section) bool { return (&section{Section: s}).inFile() })
	for i := range relas {
		s := &o.sections[i]
		s.rela = relas[i]
		for _, r := range relas[i] {
			use := c.Form(r.Kind).Use
			if use == objfile.Unsupported && s.Flags&elf.SHF_ALLOC == 0 { // such debug information counts as missing
				s.data, s.rela = nil, nil
				break
			}
			if use != objfile.Plain && use != objfile.Linked {
				return nil, fmt.Errorf("section %s+%#x: refers to %s: relocation %s isn't one of kernel code: "+
					"compile it with the kernel's make", s.Name, r.Off, o.called(&o.symbols[r.Symbol]),
					c.RelocName(r.Kind))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return o, o.align(im)
}

// align deletes the bytes that stand for alignment and aren't needed.
func (o *object) align(im *vmlinux.Image) error {
	for i := range o.sections {
		s := &o.sections[i]
		gaps, least, ok := o.Fill(s.rela, s.Size, s.Align)
		if !ok {
			return fmt.Errorf("section %s: what is left for alignment ends after its end: the file is damaged, "+
				"compile it again", s.Name)
		}
		s.Section.Align = least
		if len(gaps) == 0 {
			continue
		}
		var data []byte
		from := 0
		for _, g := range gaps {
			data = append(data, s.data[from:g.Off-g.Kept]...)
			data = append(data, im.Processor().Linux().Nop(g.Kept)...)
			from = g.Off + g.Bytes
		}
		s.data = append(data, s.data[from:]...)
		s.Size = uint64(len(s.data))
		for k := range s.rela {
			s.rela[k].Off = int(objfile.Shift(gaps, uint64(s.rela[k].Off)))
		}
		for k := range o.symbols {
			if y := &o.symbols[k]; y.Section == elf.SectionIndex(i) {
				end := objfile.Shift(gaps, y.Value+y.Size)
				y.Value = objfile.Shift(gaps, y.Value)
				y.Size = end - y.Value
			}
		}
	}
	return nil
}

// checkHeader returns an error if a file isn't an object of the kernel's class.
func checkHeader(file []byte, im *vmlinux.Image) error {
	c := im.Class()
	switch {
	case len(file) < c.Ehdr || string(file[:4]) != elf.ELFMAG:
		what := "no ELF file"
		if bytes.HasPrefix(file, []byte("!<arch>\n")) || bytes.HasPrefix(file, []byte("!<thin>\n")) {
			what = "an archive"
		} else if bytes.HasPrefix(file, []byte("BC\xc0\xde")) {
			what = "LLVM bitcode, as CONFIG_LTO_CLANG makes it"
		}
		return fmt.Errorf("is %s: give an object that make made, such as kernel/kprobes.o", what)
	case objfile.Of(file) != c:
		return fmt.Errorf("is for another processor than the kernel: compile it for %s", im.Processor())
	}
	if kind := elf.Type(c.Order.Uint16(file[16:])); kind != elf.ET_REL {
		return fmt.Errorf("is linked already (its type is %v): give the object file, kernel/kprobes.o", kind)
	}
	return nil
}

// checkSymbol returns an error unless s lies in a section.
func (o *object) checkSymbol(s *symbol) error {
	switch {
	case s.Type() == elf.STT_TLS:
		return fmt.Errorf("%s: is thread-local, which no kernel code is: compile it with the kernel's make", s.Name)
	case s.Type() == elf.STT_GNU_IFUNC:
		return fmt.Errorf("%s: is chosen by a function when it is linked, which no kernel code is: compile it "+
			"with the kernel's make", s.Name)
	case s.Section == elf.SHN_COMMON:
		return fmt.Errorf("%s: is a common variable: compile it with -fno-common, as the kernel's make does", s.Name)
	case s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS:
		return nil
	case int(s.Section) >= len(o.sections):
		return fmt.Errorf("%s: lies in section %d of %d: the file is damaged, compile it again", s.Name, s.Section,
			len(o.sections))
	}
	in := &o.sections[s.Section]
	if s.Value > in.Size || s.Size > in.Size-s.Value {
		return fmt.Errorf("%s: ends after the end of section %s: the file is damaged, compile it again", s.Name,
			in.Name)
	}
	return nil
}

// section returns the section that a symbol lies in, nil for others.
func (o *object) section(s *symbol) *section {
	if s.Section == elf.SHN_UNDEF || int(s.Section) >= len(o.sections) {
		return nil
	}
	return &o.sections[s.Section]
}

// called returns a symbol's printable name; for a section symbol, the section's.
func (o *object) called(s *symbol) string {
	if in := o.section(s); s.Name == "" && in != nil {
		return in.Name
	}
	return s.Name
}

// entry returns where branches of code with the same TOC lead.
func (s *symbol) entry() uint64 { return s.at + s.near }

// inFile reports whether a section's bytes are read. Compressed ones are debug information, and
// count as missing.
func (s *section) inFile() bool {
	return s.Kind != elf.SHT_NULL && s.Kind != elf.SHT_NOBITS &&
		(s.Flags&elf.SHF_COMPRESSED == 0 || s.Flags&elf.SHF_ALLOC != 0)
}

func (s *section) exec() bool   { return s.Flags&elf.SHF_EXECINSTR != 0 }
func (s *section) write() bool  { return s.Flags&elf.SHF_WRITE != 0 }
func (s *section) percpu() bool { return hasPrefix(s.Name, ".data..percpu") }
