package image

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A reloc is a hole in a section that depends on where things are put.
type reloc struct {
	off    int
	kind   elf.R_X86_64
	to     target
	addend int64
}

// A target is what a relocation refers to.
type target struct {
	name  string // the symbol's, or the section's
	place targetPlace
	sec   int // of Object.sections, if loaded
	value uint64
}

type targetPlace uint8

const (
	loaded   targetPlace = iota // value is an offset in sec
	external                    // the caller of Place knows
	absolute                    // value is the address
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

// raw is a relocation as the file has it, its symbol resolved.
type raw struct {
	off    uint64
	kind   elf.R_X86_64
	symbol int // of parser.symbols, -1 for none
	addend int64
}

// relasOf returns the relocations that apply to the file's section i.
func (p *parser) relasOf(i int) ([]raw, error) {
	var all []raw
	for _, s := range p.f.Sections {
		if int(s.Info) != i || s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL {
			continue
		}
		data, err := s.Data()
		if err != nil || s.Type == elf.SHT_REL || len(data)%relaBytes != 0 {
			return nil, fmt.Errorf("section %s: can't be read as relocations with addends: the file is damaged", s.Name)
		}
		for ; len(data) > 0; data = data[relaBytes:] {
			info := binary.LittleEndian.Uint64(data[8:])
			r := raw{
				off:    binary.LittleEndian.Uint64(data),
				kind:   elf.R_X86_64(elf.R_TYPE64(info)),
				symbol: int(elf.R_SYM64(info)) - 1, // debug/elf leaves symbol 0 out
				addend: int64(binary.LittleEndian.Uint64(data[16:])),
			}
			if r.symbol >= len(p.symbols) {
				return nil, fmt.Errorf("section %s: refers to symbol %d of %d: the file is damaged", s.Name, r.symbol+1, len(p.symbols))
			}
			if r.kind != elf.R_X86_64_NONE {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

const relaBytes = 24 // Elf64_Rela: offset, info, addend

// readRelocs reads the relocations of the loaded sections.
func (p *parser) readRelocs() error {
	for i, sec := range p.index {
		if sec < 0 {
			continue
		}
		raws, err := p.relasOf(i)
		if err != nil {
			return err
		}
		for _, r := range raws {
			if err := p.addReloc(sec, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) addReloc(sec int, r raw) error {
	s := &p.o.sections[sec]
	n, room := size(r.kind), uint64(len(s.data))
	if r.off > room || uint64(n) > room-r.off {
		return fmt.Errorf("%s+%#x: relocation behind the end of the section: the file is damaged", s.name, r.off)
	}
	at := p.o.where(sec, int(r.off))
	if n == 0 {
		return fmt.Errorf("%s: relocation %v isn't supported: %s", at, r.kind, remedy(r.kind))
	}
	to, err := p.target(r.symbol)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	s.relocs = append(s.relocs, reloc{off: int(r.off), kind: r.kind, to: to, addend: r.addend})
	return nil
}

// target says what a symbol stands for.
func (p *parser) target(symbol int) (target, error) {
	if symbol < 0 {
		return target{name: "0", place: absolute}, nil
	}
	s := p.symbols[symbol]
	t := target{name: s.Name, value: s.Value}
	switch s.Section {
	case elf.SHN_UNDEF:
		t.place = external
		return t, nil
	case elf.SHN_ABS:
		t.place = absolute
		return t, nil
	case elf.SHN_COMMON:
		return t, fmt.Errorf("%s is a common symbol: compile with -fno-common", s.Name)
	}
	if t.sec = p.section(s.Section); t.sec >= 0 {
		if t.name == "" { // a section symbol
			t.name = p.o.sections[t.sec].name
		}
		return t, nil
	}
	where := "no section"
	if i := int(s.Section); i > 0 && i < len(p.f.Sections) {
		where = "section " + p.f.Sections[i].Name
		if t.name == "" {
			t.name = p.f.Sections[i].Name
		}
	}
	return t, fmt.Errorf("refers to %s in %s, which isn't loaded: only code, .rodata, .data and .bss are", t.name, where)
}
