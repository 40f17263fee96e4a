package image

import (
	"debug/elf"
	"fmt"
	"strings"

	"kpsim/smp/image/objfile"
)

// A target is what a relocation refers to: a symbol.
type target struct {
	name  string // the symbol's, or the section's
	place targetPlace
	sec   int // of Object.sections, if loaded; of the file's, if left out
	value uint64
	size  uint64
	other byte // st_other
	stub  bool // common or left out, and a relocation refers to it: Load makes up an address
}

type targetPlace uint8

const (
	loaded   targetPlace = iota // value is an offset in sec
	external                    // the caller of Place knows
	absolute                    // value is the address
	common                      // a variable that was never given a place
	leftOut                     // in a section that isn't loaded
)

// readRelas reads the relocations of the sections that are put in memory, and
// of the kernel's tables.
func (p *parser) readRelas() error {
	var err error
	p.relas, err = p.f.Relocs(len(p.symbols), func(to *objfile.Section) bool {
		return to.Flags&elf.SHF_ALLOC != 0 && !isUnread(to.Name)
	})
	if err != nil || !p.o.Bits32() {
		return err
	}
	for i, list := range p.relas { // no form says which word has the addend
		for k := range list {
			if p.f.Form(list[k].Kind).Use == objfile.Unsupported {
				return p.unsupported(fmt.Sprintf("%s+%#x", p.f.Sections[i].Name, list[k].Off), &list[k])
			}
		}
	}
	return nil
}

// readRelocs gives the loaded sections their relocations.
func (p *parser) readRelocs() error {
	for i, sec := range p.index {
		if sec < 0 {
			continue
		}
		for k := range p.relas[i] {
			if err := p.checkReloc(sec, &p.relas[i][k]); err != nil {
				return err
			}
		}
		p.o.sections[sec].relocs = p.relas[i]
	}
	return nil
}

func (p *parser) checkReloc(sec int, r *objfile.Reloc) error {
	switch p.f.Form(r.Kind).Use {
	case objfile.Plain:
	case objfile.Unsupported:
		return p.unsupported(p.o.where(sec, r.Off), r)
	default:
		if p.o.unplaced == nil {
			p.o.unplaced = p.unsupported(p.o.where(sec, r.Off), r)
		}
	}
	t := &p.o.targets[r.Symbol]
	if p.o.unplaced == nil && p.f.NeedsStub(r.Kind, t.other) {
		p.o.unplaced = fmt.Errorf("%s: one of the two uses a TOC, so that %s leads to %s by a stub, and there are "+
			"none: compile with -mno-pcrel", p.o.where(sec, r.Off), p.f.RelocName(r.Kind), t.name)
	}
	switch t.place {
	case common:
		t.stub = true
		if p.o.unplaced == nil {
			p.o.unplaced = fmt.Errorf("%s: %s is a common symbol: compile with -fno-common", p.o.where(sec, r.Off),
				t.name)
		}
	case leftOut:
		t.stub = true
		if p.o.unplaced == nil {
			p.o.unplaced = fmt.Errorf("%s: refers to %s, which isn't loaded: only code and the data of a compiler is",
				p.o.where(sec, r.Off), p.inSection(t))
		}
	}
	return nil
}

func (p *parser) unsupported(where string, r *objfile.Reloc) error {
	name := p.f.RelocName(r.Kind)
	remedy := "compile with gcc -O2 -fno-pic"
	switch p.o.class.Machine {
	case elf.EM_386:
		remedy = "compile with gcc -m32 -O2 -fno-pic -fcf-protection=none"
	case elf.EM_X86_64:
		remedy += " -fcf-protection=none"
	case elf.EM_PPC64:
		remedy += " -mno-pcrel -mcmodel=medium"
	}
	switch {
	case strings.Contains(name, "TPOFF"), strings.Contains(name, "TPREL"), strings.Contains(name, "TLS"),
		strings.Contains(name, "DTPMOD"):
		remedy = "there is no thread-local storage, use a plain variable"
	case strings.Contains(name, "GOT"):
		remedy = "there is no global offset table, compile with -fno-pic"
	}
	return fmt.Errorf("%s: relocation %s isn't supported: %s", where, name, remedy)
}

// inSection names a target that isn't loaded.
func (p *parser) inSection(t *target) string {
	if t.sec > 0 && t.sec < len(p.f.Sections) {
		return fmt.Sprintf("%s in section %s", t.name, p.f.Sections[t.sec].Name)
	}
	return t.name + " in no section"
}

// readTargets says what each symbol stands for.
func (p *parser) readTargets() error {
	p.o.targets = make([]target, len(p.symbols))
	for i := range p.symbols {
		s := &p.symbols[i]
		t := target{name: s.Name, value: s.Value, size: s.Size, other: s.Other}
		switch {
		case i == 0:
			t.name, t.place = "0", absolute
		case s.Section == elf.SHN_UNDEF:
			t.place = external
		case s.Section == elf.SHN_ABS:
			t.place = absolute
		case s.Section == elf.SHN_COMMON:
			t.place = common
		default:
			if t.name == "" && int(s.Section) < len(p.f.Sections) { // a section symbol
				t.name = p.f.Sections[s.Section].Name
			}
			if t.sec = p.section(s.Section); t.sec < 0 {
				t.place, t.sec = leftOut, int(s.Section)
			}
		}
		p.o.targets[i] = t
	}
	return nil
}
