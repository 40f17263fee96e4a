package image

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"kpsim/smp/image/elfclass"
)

// A reloc is a hole in a section that depends on where things are put.
type reloc struct {
	off    int
	kind   elf.R_X86_64
	symbol int // of the file's, and of Object.targets
	addend int64
}

// A target is what a relocation refers to: a symbol.
type target struct {
	name  string // the symbol's, or the section's
	place targetPlace
	sec   int // of Object.sections, if loaded; of the file's, if left out
	value uint64
	size  uint64
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
	p.relas = make([][]reloc, len(p.f.sections))
	total := uint64(0)
	for i := range p.f.sections {
		s := &p.f.sections[i]
		if s.kind != elf.SHT_RELA && s.kind != elf.SHT_REL || int(s.info) >= len(p.relas) {
			continue
		}
		to := &p.f.sections[s.info]
		if to.flags&elf.SHF_ALLOC == 0 || isUnread(to.name) {
			continue
		}
		switch {
		case s.kind == elf.SHT_REL && p.f.Rels == elf.SHT_RELA:
			return fmt.Errorf("section %s: relocations without addends: assemble it for x86-64, where they have them",
				s.name)
		case s.kind != p.f.Rels:
			return fmt.Errorf("section %s: relocations with addends: assemble it for i386, where the holes have them",
				s.name)
		}
		if total += s.size; s.size > objectBytesMax || total > objectBytesMax {
			return fmt.Errorf("section %s: more than %d MiB of relocations: take what is probed out into a "+
				"smaller file", s.name, objectBytesMax>>20)
		}
		data, err := p.f.contents(i)
		if err != nil {
			return err
		}
		if len(data)%p.f.Rel != 0 {
			return fmt.Errorf("section %s: can't be read as relocations: the file is damaged", s.name)
		}
		raws, err := p.appendRelas(slices.Grow(p.relas[s.info], len(data)/p.f.Rel), i, data)
		if err != nil {
			return err
		}
		byOffset := func(a, b reloc) int { return cmp.Compare(a.off, b.off) }
		if !slices.IsSortedFunc(raws, byOffset) {
			slices.SortStableFunc(raws, byOffset)
		}
		p.relas[s.info] = raws
	}
	return nil
}

// appendRelas reads the rows of section i of relocations. Those of 32 bits have their
// addends in the holes.
func (p *parser) appendRelas(raws []reloc, i int, data []byte) ([]reloc, error) {
	name, to := p.f.sections[i].name, int(p.f.sections[i].info)
	for ; len(data) > 0; data = data[p.f.Rel:] {
		off, sym, kind := p.f.Row(data)
		r := reloc{
			off:    int(min(off, math.MaxInt32)), // after any section, if it is as far
			symbol: int(sym),
		}
		if r.symbol >= len(p.f.symbols) {
			return nil, fmt.Errorf("section %s: refers to symbol %d of %d: the file is damaged", name, r.symbol,
				len(p.f.symbols))
		}
		var known bool
		if r.kind, known = p.f.Reloc(kind); !known {
			name := p.f.RelocName(kind)
			return nil, fmt.Errorf("%s+%#x: relocation %s isn't supported: %s", p.f.sections[to].name, r.off, name,
				remedy386(name))
		}
		if r.kind == elf.R_X86_64_NONE {
			continue
		}
		if p.f.Class == elfclass.Bits64 {
			r.addend = int64(binary.LittleEndian.Uint64(data[16:]))
		} else if err := p.inHole(&r, to); err != nil {
			return nil, err
		}
		raws = append(raws, r)
	}
	return raws, nil
}

// inHole gives a relocation of 32 bits in a section of the file the addend that stands in its
// hole.
func (p *parser) inHole(r *reloc, to int) error {
	b, err := p.f.contents(to)
	if err != nil {
		return err
	}
	if r.off > len(b)-4 {
		return fmt.Errorf("%s+%#x: relocation behind the end of the section: the file is damaged",
			p.f.sections[to].name, r.off)
	}
	r.addend = int64(int32(binary.LittleEndian.Uint32(b[r.off:])))
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

func (p *parser) checkReloc(sec int, r *reloc) error {
	s := &p.o.sections[sec]
	f, known := formOf(r.kind)
	if room := len(s.data); r.off > room || f.bytes > room-r.off {
		return fmt.Errorf("%s+%#x: relocation behind the end of the section: the file is damaged", s.name, r.off)
	}
	if !known {
		return p.unsupported(sec, r)
	}
	if !f.placed && p.o.unplaced == nil {
		p.o.unplaced = p.unsupported(sec, r)
	}
	t := &p.o.targets[r.symbol]
	switch t.place {
	case common:
		t.stub = true
		if p.o.unplaced == nil {
			p.o.unplaced = fmt.Errorf("%s: %s is a common symbol: compile with -fno-common", p.o.where(sec, r.off),
				t.name)
		}
	case leftOut:
		t.stub = true
		if p.o.unplaced == nil {
			p.o.unplaced = fmt.Errorf("%s: refers to %s, which isn't loaded: only code and the data of a compiler is",
				p.o.where(sec, r.off), p.inSection(t))
		}
	}
	return nil
}

func (p *parser) unsupported(sec int, r *reloc) error {
	name := r.kind.String()
	if int(r.kind) >= len(forms) {
		name = strconv.Itoa(int(r.kind))
	}
	return fmt.Errorf("%s: relocation %s isn't supported: %s", p.o.where(sec, r.off), name, remedy(name))
}

// inSection names a target that isn't loaded.
func (p *parser) inSection(t *target) string {
	if t.sec > 0 && t.sec < len(p.f.sections) {
		return fmt.Sprintf("%s in section %s", t.name, p.f.sections[t.sec].name)
	}
	return t.name + " in no section"
}

// readTargets says what each symbol stands for.
func (p *parser) readTargets() error {
	p.o.targets = make([]target, len(p.f.symbols))
	for i := range p.f.symbols {
		s := &p.f.symbols[i]
		t := target{name: s.name, value: s.value, size: s.size}
		switch {
		case i == 0:
			t.name, t.place = "0", absolute
		case s.section == elf.SHN_UNDEF:
			t.place = external
		case s.section == elf.SHN_ABS:
			t.place = absolute
		case s.section == elf.SHN_COMMON:
			t.place = common
		default:
			if t.name == "" && int(s.section) < len(p.f.sections) { // a section symbol
				t.name = p.f.sections[s.section].name
			}
			if t.sec = p.section(s.section); t.sec < 0 {
				t.place, t.sec = leftOut, int(s.section)
			}
		}
		p.o.targets[i] = t
	}
	return nil
}
