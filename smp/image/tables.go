package image

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"kpsim/smp/arch/x86"
	"kpsim/smp/image/objfile"
)

// A place is an offset in a section of Object.sections.
type place struct{ sec, off int }

// A rawSite is a Site that has no address yet.
type rawSite struct {
	place
	n    int
	kind SiteKind
	tail bool
	to   place // Target, of jump labels and exception tables
	typ  int32
	// key is the symbol of a jump label's or static call's key, of
	// Object.targets, and keyOff the offset from it.
	key    int
	keyOff int64
}

// A layout says how the entries of a table are laid out. Each is of so many
// bytes; relocations may stand at the holes, and must at the first need of them.
type layout struct {
	bytes int
	holes []int
	need  int
	write string // how it is written in assembly, for messages
	less  int    // bytes that an entry of i386 has less, because an address in it has four
}

// An entry is one of a table, with the relocations at its holes.
type entry struct {
	data []byte
	refs [3]ref
}

// A ref is a relocation of a table.
type ref struct {
	objfile.Reloc
	table string
}

func (e *entry) word(off int) uint32 { return binary.LittleEndian.Uint32(e.data[off:]) }

// of returns the layout of a table in an object: addresses of i386, and keys of jump labels,
// have four bytes, not eight.
func (t layout) of(o *Object) layout {
	if o.Bits32() {
		t.bytes -= t.less
		t.write = strings.ReplaceAll(t.write, ".quad", ".long")
	}
	return t
}

// self is the layout of tables that are nothing but references to text.
var self = layout{bytes: 4, holes: []int{0}, need: 1, write: "\".long label - .\""}

// tables are those that name places in the text, by section. Layouts:
// include/linux/jump_label.h and static_call_types.h, asm-generic/bug.h with
// CONFIG_GENERIC_BUG_RELATIVE_POINTERS and CONFIG_DEBUG_BUGVERBOSE,
// arch/x86/include/asm/paravirt_types.h; the others are lists of addresses,
// 64 bits wide or relative to themselves.
var tables = map[string]struct {
	layout
	read func(p *parser, e entry, s rawSite) error
}{
	"__bug_table": {layout{12, []int{0, 4}, 1, "address, file, line and flags", 0}, fixed(SiteBug, 2)},
	"__jump_table": {layout{16, []int{0, 4, 8}, 3, "code, target and key", 4},
		func(p *parser, e entry, s rawSite) error {
			s.kind, s.n = SiteJumpLabel, 2
			// jmp rel32, a nop
			if c := p.byteAt(s.place); c == x86.OpJump || c == nops[x86.JumpLen][0] || c == p.o.nops()[x86.JumpLen][0] {
				s.n = 5
			}
			var err error
			if s.to, err = p.code(e.refs[1]); err != nil {
				return err
			}
			// The key's lowest two bits are flags (struct jump_entry).
			s.key, s.keyOff = e.refs[2].Symbol, e.refs[2].Addend&^3
			return p.addSite(s, e.refs[0])
		}},
	".static_call_sites": {layout{8, []int{0, 4}, 2, "address and key", 0}, func(p *parser, e entry, s rawSite) error {
		s.kind, s.n = SiteStaticCall, branchBytes(p.byteAt(s.place))
		// STATIC_CALL_SITE_TAIL is the lowest bit, STATIC_CALL_SITE_INIT the next.
		s.key, s.keyOff, s.tail = e.refs[1].Symbol, e.refs[1].Addend&^3, e.refs[1].Addend&1 != 0
		return p.addSite(s, e.refs[0])
	}},
	".parainstructions": {layout{16, []int{0}, 1, "address, type and length", 8},
		func(p *parser, e entry, s rawSite) error {
			s.kind, s.n = SiteParavirt, int(e.data[p.f.Word+1])
			return p.addSite(s, e.refs[0])
		}},
	".smp_locks": {self, fixed(SiteLock, 1)},
	".return_sites": {self, func(p *parser, e entry, s rawSite) error {
		s.kind, s.n = SiteReturn, 5
		return p.addSite(s, e.refs[0])
	}},
	".retpoline_sites": {self, func(p *parser, e entry, s rawSite) error {
		s.kind, s.n = SiteRetpoline, branchBytes(p.byteAt(s.place))
		return p.addSite(s, e.refs[0])
	}},
	".ibt_endbr_seal":   {self, fixed(SiteEndbr, 4)},
	"__mcount_loc":      {layout{8, []int{0}, 1, "\".quad label\"", 4}, fixed(SiteFentry, 5)},
	"_kprobe_blacklist": {layout{8, []int{0}, 1, "\".quad function\"", 4}, fixed(SiteBlacklist, 1)},
}

// isTable reports whether a section is one that the kernel reads for itself, so
// that code which refers to it is no code that may be probed.
func isTable(name string) bool {
	_, ok := tables[name]
	return ok || name == ".altinstructions" || name == "__ex_table" || isUnread(name)
}

// isUnread reports whether a section is a table that nothing is read of.
func isUnread(name string) bool {
	switch name {
	case ".call_sites", ".cfi_sites", "__patchable_function_entries", "__versions", ".modinfo", "__kcrctab",
		"__kcrctab_gpl":
		return true
	}
	return strings.HasPrefix(name, ".orc_") || strings.HasPrefix(name, ".note") ||
		strings.HasPrefix(name, ".eh_frame") || strings.HasPrefix(name, ".debug")
}

// fixed reads entries whose place has a kind and a length, whatever they say.
func fixed(kind SiteKind, n int) func(p *parser, e entry, s rawSite) error {
	return func(p *parser, e entry, s rawSite) error {
		s.kind, s.n = kind, n
		return p.addSite(s, e.refs[0])
	}
}

// branchBytes returns the length of a jmp, call or jcc of 32 bits that begins
// with c: a cs prefix fills up calls of thunks for r8 to r15.
func branchBytes(c byte) int {
	if c == 0x2e || c == 0x0f {
		return 6
	}
	return 5
}

// readTables reads what the kernel's tables say of the text.
func (p *parser) readTables() error {
	for i := range p.f.Sections {
		s := &p.f.Sections[i]
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 {
			continue
		}
		if s.Name == ".altinstructions" {
			if err := p.readAlternatives(i); err != nil {
				return err
			}
			continue
		}
		if sec := p.index[i]; sec >= 0 && sec < p.o.texts && (s.Name == ".kprobes.text" || s.Name == ".noinstr.text") {
			p.o.sites = append(p.o.sites, rawSite{kind: SiteBlacklist, place: place{sec, 0}, n: int(s.Size)})
			continue
		}
		t, ok := tables[s.Name]
		if !ok {
			continue
		}
		err := p.entries(i, t.layout.of(p.o), func(e entry) error {
			at, err := p.code(e.refs[0])
			if err != nil {
				return err
			}
			return t.read(p, e, rawSite{place: at})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readCalls makes a site of each call of __fentry__ that no table names, as the build of a
// kernel does: what a compiler leaves has none (scripts/recordmcount.c, objtool).
func (p *parser) readCalls() error {
	known := make(map[place]bool)
	for _, s := range p.o.sites {
		if s.kind == SiteFentry {
			known[s.place] = true
		}
	}
	for i := range p.o.texts {
		s := &p.o.sections[i]
		for _, r := range s.relocs {
			at := place{i, r.Off - 1}
			if at.off >= 0 && s.data[at.off] == callOpcode && p.o.targets[r.Symbol].name == fentry && !known[at] {
				p.o.sites = append(p.o.sites, rawSite{place: at, n: 5, kind: SiteFentry})
			}
		}
	}
	return nil
}

// entries calls visit with each entry of the table in section i.
func (p *parser) entries(i int, t layout, visit func(e entry) error) error {
	s := &p.f.Sections[i]
	data, err := p.contents(i)
	if err != nil {
		return err
	}
	if len(data)%t.bytes != 0 {
		return fmt.Errorf("section %s: %d bytes, but an entry has %d: write %s", s.Name, len(data), t.bytes, t.write)
	}
	relocs := p.relas[i]
	for off := 0; off < len(data); off += t.bytes {
		e := entry{data: data[off : off+t.bytes]}
		found := 0
		for ; len(relocs) > 0 && relocs[0].Off < off+t.bytes; relocs = relocs[1:] {
			k := -1
			for n, h := range t.holes {
				if relocs[0].Off == off+h {
					k = n
				}
			}
			if k < 0 {
				return fmt.Errorf("%s+%#x: relocation inside an entry: write %s", s.Name, relocs[0].Off, t.write)
			}
			if e.refs[k].table == "" && k < t.need {
				found++
			}
			e.refs[k] = ref{relocs[0], s.Name}
		}
		if found < t.need {
			return fmt.Errorf("%s+%#x: an entry with %d relocations, not %d: write %s", s.Name, off, found, t.need,
				t.write)
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	if len(relocs) > 0 {
		return fmt.Errorf("%s+%#x: relocation behind the end of the section: the file is damaged", s.Name,
			relocs[0].Off)
	}
	return nil
}

// code returns where in the text a relocation of a table points to. Words that
// are relative are so to themselves: S + A - P there is S + A here.
func (p *parser) code(r ref) (place, error) {
	// An address has a word, a distance any size.
	form := p.f.Form(r.Kind)
	if form.Use != objfile.Plain || form.Less == objfile.Nothing && form.Bytes != p.f.Word {
		return place{}, fmt.Errorf("%s+%#x: relocation %s: write the word as \".long label - .\"", r.table, r.Off,
			p.f.RelocName(r.Kind))
	}
	t := &p.o.targets[r.Symbol]
	off := int64(t.value) + r.Addend
	if t.place != loaded || t.sec >= p.o.texts || off < 0 || off >= int64(len(p.o.sections[t.sec].data)) {
		return place{}, p.noCode(r)
	}
	return place{t.sec, int(off)}, nil
}

func (p *parser) noCode(r ref) error {
	return fmt.Errorf("%s+%#x: points to %s%+#x, where no code is: name an instruction of this object", r.table, r.Off,
		p.o.targets[r.Symbol].name, r.Addend)
}

func (p *parser) byteAt(at place) byte { return p.o.sections[at.sec].data[at.off] }

// addSite keeps a site that r names, if all of it is there.
func (p *parser) addSite(s rawSite, r ref) error {
	if s.n > len(p.o.sections[s.sec].data)-s.off {
		return fmt.Errorf("%s+%#x: the %v site at %s goes beyond the end of its section: the file is damaged", r.table,
			r.Off, s.kind, p.o.where(s.sec, s.off))
	}
	p.o.sites = append(p.o.sites, s)
	return nil
}
