package image

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
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
}

type targetPlace uint8

const (
	loaded   targetPlace = iota // value is an offset in sec
	external                    // the caller of Place knows
	absolute                    // value is the address
	common                      // a variable that was never given a place
	leftOut                     // in a section that isn't loaded
)

// size returns how many bytes a relocation fills in; 0 if it isn't supported.
func size(kind elf.R_X86_64) int {
	switch kind {
	case elf.R_X86_64_64, elf.R_X86_64_PC64:
		return 8
	case elf.R_X86_64_PC32, elf.R_X86_64_PLT32, elf.R_X86_64_32, elf.R_X86_64_32S:
		return 4
	}
	return 0
}

// remedy says what to do about a relocation that isn't supported.
func remedy(kind elf.R_X86_64) string {
	switch name := kind.String(); {
	case strings.Contains(name, "TPOFF"), strings.Contains(name, "TLS"), strings.Contains(name, "DTPMOD"):
		return "there is no thread-local storage, use a plain variable"
	case strings.Contains(name, "GOT"):
		return "there is no global offset table, compile with -fno-pic"
	}
	return "compile with gcc -O2 -fno-pic -fcf-protection=none"
}

// relative reports whether what goes into the hole depends on where the hole is.
func (r *reloc) relative() bool {
	return r.kind == elf.R_X86_64_PC32 || r.kind == elf.R_X86_64_PLT32 || r.kind == elf.R_X86_64_PC64
}

// encode returns what goes into the hole at address p when its target is at s:
// S + A, less P if it is relative (System V ABI, AMD64, "Relocation Types").
// ok is false if the hole is too small for it.
func (r *reloc) encode(p, s uint64) (v uint64, ok bool) {
	v = s + uint64(r.addend)
	if r.relative() {
		v -= p
	}
	switch r.kind {
	case elf.R_X86_64_PC32, elf.R_X86_64_PLT32, elf.R_X86_64_32S:
		return v, int64(v) == int64(int32(v))
	case elf.R_X86_64_32:
		return v, v <= math.MaxUint32
	}
	return v, true
}

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
		if s.kind == elf.SHT_REL {
			return fmt.Errorf("section %s: relocations without addends: assemble it for x86-64, where they have them", s.name)
		}
		if total += s.size; s.size > objectBytesMax || total > objectBytesMax {
			return fmt.Errorf("section %s: more than %d MiB of relocations: take what is probed out into a smaller file", s.name, objectBytesMax>>20)
		}
		data, err := p.f.contents(i)
		if err != nil {
			return err
		}
		if len(data)%relaBytes != 0 {
			return fmt.Errorf("section %s: can't be read as relocations with addends: the file is damaged", s.name)
		}
		raws, err := p.appendRelas(slices.Grow(p.relas[s.info], len(data)/relaBytes), s.name, data)
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

func (p *parser) appendRelas(raws []reloc, name string, data []byte) ([]reloc, error) {
	for ; len(data) > 0; data = data[relaBytes:] {
		off, info := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		r := reloc{
			off:    int(min(off, math.MaxInt32)), // behind any section, if it is as far
			kind:   elf.R_X86_64(elf.R_TYPE64(info)),
			symbol: int(elf.R_SYM64(info)),
			addend: int64(binary.LittleEndian.Uint64(data[16:])),
		}
		if r.symbol >= len(p.f.symbols) {
			return nil, fmt.Errorf("section %s: refers to symbol %d of %d: the file is damaged", name, r.symbol, len(p.f.symbols))
		}
		if r.kind != elf.R_X86_64_NONE {
			raws = append(raws, r)
		}
	}
	return raws, nil
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
	n, room := size(r.kind), len(s.data)
	if r.off > room || n > room-r.off {
		return fmt.Errorf("%s+%#x: relocation behind the end of the section: the file is damaged", s.name, r.off)
	}
	if n == 0 {
		return fmt.Errorf("%s: relocation %v isn't supported: %s", p.o.where(sec, r.off), r.kind, remedy(r.kind))
	}
	t := &p.o.targets[r.symbol]
	switch t.place {
	case common:
		return fmt.Errorf("%s: %s is a common symbol: compile with -fno-common", p.o.where(sec, r.off), t.name)
	case leftOut:
		return fmt.Errorf("%s: refers to %s, which isn't loaded: only code and the data of a compiler is", p.o.where(sec, r.off), p.inSection(t))
	}
	return nil
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
		t := target{name: s.name, value: s.value}
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
