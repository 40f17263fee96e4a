package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"kpsim/smp/image/objfile"
)

const (
	// objectBytesMax bounds loaded sections; a .bss in a file of 1 KiB can claim any size.
	objectBytesMax = 64 << 20
	alignMax       = 1 << 20
)

// An Object is a parsed object file: its sections, functions, relocations and the kernel's tables
// about its code, without addresses yet. Place and Load don't change it, and may be called
// repeatedly.
type Object struct {
	name     string
	class    *objfile.Class
	module   bool      // it is a kernel module, built to be loaded rather than linked
	version  Version   // the kernel it was built for, if stated
	sections []section // the loaded ones: code first, then data, each in file order
	texts    int       // sections[:texts] hold code
	targets  []target  // targets of relocations, by symbol number

	funcs   []function // by section and offset, without overlaps
	symbols []textSymbol
	sites   []rawSite
	alts    []alternative // in table order: later ones win

	labels   []label // nil for a module
	unplaced error   // why Place refuses it although Load doesn't
}

type section struct {
	name   string
	align  uint64
	data   []byte          // for .bss, zeros; read-only, as it belongs to the file
	relocs []objfile.Reloc // by offset
}

// Bits32 reports whether the code is for i386.
func (o *Object) Bits32() bool { return o.class == objfile.Bits32 }

// Machine returns the processor that the code is for, as its header says.
func (o *Object) Machine() elf.Machine { return o.class.Machine }

// IsModule reports whether the object is a kernel module.
func (o *Object) IsModule() bool { return o.module }

// Version returns the kernel version that a module was built for, from its .modinfo.
func (o *Object) Version() (v Version, ok bool) { return o.version, o.version != Version{} }

// ParseELF reads a relocatable object file, as written by gcc -c, or a kernel module of x86. The name is for
// messages. data must not change later.
func ParseELF(name string, data []byte) (*Object, error) {
	class, err := checkHeader(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f, err := objfile.Read(class, bytes.NewReader(data), uint64(len(data)), data, "compile it again")
	if err != nil {
		return nil, fmt.Errorf("%s: can't be read as an ELF object: %w", name, err)
	}
	p := parser{f: f, o: &Object{name: name, class: class}}
	for _, step := range []func() error{
		p.readModinfo, p.checkModule, p.checkCode, p.check386, p.readSymbols, p.readRelas, p.loadSections,
		p.readTargets, p.readFuncs, p.readRelocs, p.readExtable, p.readTables, p.readCalls,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p.o, nil
}

// MachineOf returns the processor that an object is for, from its header.
func MachineOf(data []byte) (elf.Machine, error) {
	class, err := checkHeader(data)
	if err != nil {
		return 0, err
	}
	return class.Machine, nil
}

// checkHeader returns an error unless data begins like an object of a processor that kpsim runs.
func checkHeader(data []byte) (*objfile.Class, error) {
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
		return nil, fmt.Errorf("can't be read as an ELF object (%s); give a .o file made by gcc -c or as, or a "+
			"kernel module", what)
	case elf.Data(data[5]) == elf.ELFDATA2MSB:
		return nil, fmt.Errorf("big-endian code: compile it for x86-64")
	}
	le := binary.LittleEndian
	kind, machine, c := elf.Type(le.Uint16(data[16:])), elf.Machine(le.Uint16(data[18:])), objfile.Of(data)
	switch {
	case c == nil && machine != elf.EM_X86_64 && machine != elf.EM_386:
		return nil, fmt.Errorf("code for %v: compile it for x86-64", machine)
	case c == nil:
		return nil, fmt.Errorf("32-bit code for x86-64 (-mx32), or a damaged header: compile it with -m64 or -m32")
	case kind != elf.ET_REL:
		return nil, fmt.Errorf("linked already (%v): give the .o file, as gcc -c makes it", kind)
	}
	return c, nil
}

// A parser holds what is needed only during parsing.
type parser struct {
	f       *objfile.File
	o       *Object
	symbols []objfile.Symbol
	index   []int             // maps the file's section numbers to Object.sections; -1 if not loaded
	relas   [][]objfile.Reloc // by the file's section number, by offset
}

// loadSections selects the sections that are put in memory: all code, whatever its section's
// name, a compiler's data sections, and any other data that these refer to. Notes, unwind tables
// and the kernel's tables are omitted.
func (p *parser) loadSections() error {
	load := p.wanted()
	p.index = make([]int, len(load))
	total := uint64(0)
	for _, text := range []bool{true, false} {
		for i := range p.f.Sections {
			s := &p.f.Sections[i]
			if !load[i] {
				p.index[i] = -1
				continue
			}
			if isText(s) != text {
				continue
			}
			if total += s.Size; s.Size > objectBytesMax || total > objectBytesMax {
				return fmt.Errorf("section %s: more than %d MiB of code and data: take what is probed out into "+
					"a smaller file", s.Name, objectBytesMax>>20)
			}
			sec, err := p.loadSection(i)
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
	return nil
}

// checkCode returns an error if an object other than a module has no code. A module may only
// export tables.
func (p *parser) checkCode() error {
	if p.o.module {
		return nil
	}
	lto := false
	for i := range p.f.Sections {
		s := &p.f.Sections[i]
		if s.Size > 0 && isText(s) {
			return nil
		}
		lto = lto || strings.HasPrefix(s.Name, ".gnu.lto_")
	}
	if lto {
		return fmt.Errorf("holds no code, only what gcc -flto leaves for the linker: compile it without -flto, " +
			"or with -ffat-lto-objects too")
	}
	return fmt.Errorf("holds no code: give an object with a .text section")
}

// checkModule returns an error if a kernel module isn't of x86: what a kernel does to one when it loads it is known
// for that only.
func (p *parser) checkModule() error {
	if m := p.o.class.Machine; p.o.module && m != elf.EM_X86_64 && m != elf.EM_386 {
		return fmt.Errorf("a kernel module for %v: kpsim loads those of x86; give the object file of what is run", m)
	}
	return nil
}

// check386 returns an error if an i386 object has one of objtool's tables, which exist only for
// x86-64: no i386 kernel reads it.
func (p *parser) check386() error {
	if !p.o.Bits32() {
		return nil
	}
	for i := range p.f.Sections {
		switch s := &p.f.Sections[i]; s.Name {
		case ".static_call_sites", ".return_sites", ".retpoline_sites", ".ibt_endbr_seal":
			if s.Size > 0 && s.Flags&elf.SHF_ALLOC != 0 {
				return fmt.Errorf("section %s: no kernel for i386 rewrites text by it, objtool makes it for "+
					"x86-64: leave it out", s.Name)
			}
		}
	}
	return nil
}

// wanted reports, for each section of the file, whether it is loaded.
func (p *parser) wanted() []bool {
	load := make([]bool, len(p.f.Sections))
	var open []int // sections whose relocations weren't examined yet
	want := func(i int) {
		if !load[i] && p.f.Sections[i].Flags&elf.SHF_ALLOC != 0 {
			load[i], open = true, append(open, i)
		}
	}
	for i := range p.f.Sections {
		if s := &p.f.Sections[i]; s.Size > 0 && (isText(s) || isData(s.Name)) {
			want(i)
		}
	}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		for _, r := range p.relas[i] {
			if to := int(p.symbols[r.Symbol].Section); to > 0 && to < len(load) && !isTable(p.f.Sections[to].Name) {
				want(to)
			}
		}
	}
	return load
}

func isText(s *objfile.Section) bool {
	return s.Flags&(elf.SHF_ALLOC|elf.SHF_EXECINSTR) == elf.SHF_ALLOC|elf.SHF_EXECINSTR
}

func isData(name string) bool {
	return strings.HasPrefix(name, ".rodata") || strings.HasPrefix(name, ".data") || strings.HasPrefix(name, ".bss")
}

func (p *parser) loadSection(i int) (section, error) {
	s := &p.f.Sections[i]
	sec := section{name: s.Name, align: max(s.Align, 1)}
	if sec.align&(sec.align-1) != 0 || sec.align > alignMax {
		return sec, fmt.Errorf("section %s: alignment %#x: must be a power of two, at most %#x", s.Name, s.Align,
			alignMax)
	}
	if s.Kind == elf.SHT_NOBITS {
		sec.data = make([]byte, s.Size)
		return sec, nil
	}
	var err error
	sec.data, err = p.contents(i)
	return sec, err
}

// section maps the file's section number to a loaded section, or -1.
func (p *parser) section(i elf.SectionIndex) int {
	if i <= 0 || int(i) >= len(p.index) {
		return -1
	}
	return p.index[i]
}

// contents returns the bytes of a section of the file.
func (p *parser) contents(i int) ([]byte, error) { return p.f.Bytes(&p.f.Sections[i], math.MaxUint64) }

func (p *parser) readSymbols() (err error) {
	if p.symbols, err = p.f.Symbols(); err == nil && len(p.symbols) < 2 {
		return fmt.Errorf("no symbols: a probe needs the name of a function, don't strip the object")
	}
	return err
}

// readModinfo determines whether this is a kernel module, and for which kernel: .modinfo has
// "vermagic=6.1.0-56-amd64 SMP preempt mod_unload modversions".
func (p *parser) readModinfo() error {
	for i := range p.f.Sections {
		switch s := &p.f.Sections[i]; s.Name {
		case ".gnu.linkonce.this_module":
			p.o.module = true
		case ".modinfo":
			info, err := p.contents(i)
			if err != nil {
				return err
			}
			for entry := range bytes.SplitSeq(info, []byte{0}) {
				if v, ok := strings.CutPrefix(string(entry), "vermagic="); ok {
					p.o.module = true
					fmt.Sscanf(v, "%d.%d", &p.o.version.Major, &p.o.version.Minor)
				}
			}
		}
	}
	return nil
}
