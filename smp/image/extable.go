package image

import (
	"debug/elf"
	"fmt"
	"slices"
)

// An exception-table entry is three words of 32 bits: insn and fixup, each
// relative to itself, and what kind of entry it is
// (arch/x86/include/asm/extable.h: struct exception_table_entry).
const (
	extableName  = "__ex_table"
	extableBytes = 12
)

// readExtable notes at each function which of its instructions may fault.
func (p *parser) readExtable() error {
	for i, s := range p.f.Sections {
		if s.Name != extableName || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if s.Size%extableBytes != 0 {
			return fmt.Errorf("section %s: %d bytes, but an entry has %d: write insn, fixup and type, .long each", s.Name, s.Size, extableBytes)
		}
		raws, err := p.relasOf(i)
		if err != nil {
			return err
		}
		var insns, fixups uint64
		for _, r := range raws {
			f, off, err := p.extableTarget(r)
			if err != nil {
				return err
			}
			switch r.off % extableBytes {
			case 0:
				insns++
				f.extable = append(f.extable, off)
			case 4:
				fixups++
			default:
				return fmt.Errorf("%s+%#x: relocation inside an entry: write insn, fixup and type, .long each", s.Name, r.off)
			}
		}
		if n := s.Size / extableBytes; insns != n || fixups != n {
			return fmt.Errorf("section %s: %d entries, but %d relocations of insn and %d of fixup: write each as \".long label - .\"", s.Name, n, insns, fixups)
		}
	}
	for i := range p.o.funcs {
		f := &p.o.funcs[i]
		slices.Sort(f.extable)
		f.extable = slices.Compact(f.extable)
	}
	return nil
}

// extableTarget returns the function, and the offset in it, that a word of an
// exception-table entry points to.
func (p *parser) extableTarget(r raw) (*function, int, error) {
	at := fmt.Sprintf("%s+%#x", extableName, r.off)
	if r.kind != elf.R_X86_64_PC32 {
		return nil, 0, fmt.Errorf("%s: relocation %v: write the word as \".long label - .\"", at, r.kind)
	}
	to, err := p.target(r.symbol)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", at, err)
	}
	// The word is relative to itself, so S + A - P there is S + A here.
	off := int64(to.value) + r.addend
	if to.place == loaded && to.sec < p.o.texts && off >= 0 && off < int64(len(p.o.sections[to.sec].data)) {
		if f := p.o.funcAt(to.sec, int(off)); f != nil {
			return f, int(off) - f.off, nil
		}
	}
	return nil, 0, fmt.Errorf("%s: points to %s%+#x, where no code is: name an instruction of this object", at, to.name, r.addend)
}
