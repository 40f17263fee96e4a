package image

import (
	"debug/elf"
	"slices"
)

// readExtable records in each function the instructions that may fault. An entry is three 32-bit
// words: insn and fixup, each relative to itself, and the entry's type
// (arch/x86/include/asm/extable.h: struct exception_table_entry).
func (p *parser) readExtable() error {
	for i := range p.f.Sections {
		s := &p.f.Sections[i]
		if s.Name != "__ex_table" || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		err := p.entries(i, layout{bytes: 12, holes: []int{0, 4}, need: 2,
			write: "insn, fixup and type, .long each, as \".long label - .\""}, func(e entry) error {
			insn, err := p.code(e.refs[0])
			if err != nil {
				return err
			}
			fixup, err := p.code(e.refs[1])
			if err != nil {
				return err
			}
			for _, at := range []place{insn, fixup} {
				if p.o.funcAt(at.sec, at.off) == nil {
					return p.noCode(e.refs[0])
				}
			}
			f := p.o.funcAt(insn.sec, insn.off)
			f.extable = append(f.extable, insn.off-f.off)
			p.o.sites = append(p.o.sites, rawSite{kind: SiteExtable, place: insn, n: 1, to: fixup,
				typ: int32(e.word(8))})
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range p.o.funcs {
		f := &p.o.funcs[i]
		slices.Sort(f.extable)
		f.extable = slices.Compact(f.extable)
	}
	return nil
}
