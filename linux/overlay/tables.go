package overlay

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/image/objfile"
)

// initcalls returns the names of the objects' initcalls in the order of their levels.
func (l *linker) initcalls() []string {
	type call struct{ level, name string }
	var calls []call
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			level, ok := strings.CutPrefix(s.Name, ".initcall")
			if !ok {
				continue
			}
			if level = strings.TrimSuffix(level, ".init"); level == "early" {
				level = "" // before level 0
			}
			for _, r := range s.rela {
				if name := o.named(&o.symbols[r.Symbol], r.Addend); name != "" {
					calls = append(calls, call{level, name})
				}
			}
		}
	}
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.level, b.level) })
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.name
	}
	return names
}

// named returns the name of the function that a reference leads to, possibly through a section
// symbol.
func (o *object) named(to *symbol, addend int64) string {
	if to.Type() != elf.STT_SECTION {
		return to.Name
	}
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.Section == to.Section && s.Type() == elf.STT_FUNC && s.Value == to.Value+uint64(addend) {
			return s.Name
		}
	}
	return ""
}

// symbols returns the overlay's own symbols, by address.
func (l *linker) symbols() []vmlinux.Symbol {
	var all []vmlinux.Symbol
	for _, o := range l.objects {
		for i := range o.symbols {
			s := &o.symbols[i]
			in := o.section(s)
			if in == nil || !in.kept || s.Name == "" || s.away || s.Type() > elf.STT_FUNC ||
				s.Name[0] == '$' || strings.HasPrefix(s.Name, ".L") { // marks of what is code, labels
				continue
			}
			all = append(all, vmlinux.Symbol{
				Name: s.Name, Addr: s.at, Size: s.Size, Func: in.exec(),
				Global: s.Bind() != elf.STB_LOCAL, Weak: s.Bind() == elf.STB_WEAK,
			}.Entered(s.near))
		}
	}
	slices.SortStableFunc(all, func(a, b vmlinux.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return all
}

// bugs reads the rows of __bug_table, struct bug_entry of include/asm-generic/bug.h: the places
// of the ud2 and of the file's name, as distances or, on i386, addresses; the line; the flags.
func (l *linker) bugs(v *Overlay) {
	table := v.section("__bug_table")
	if table == nil {
		return
	}
	size, flags := 12, 10
	if n, ok := l.im.Types().Size("bug_entry"); ok && n >= 6 && n <= 64 {
		size, flags = n, n-2
		if off, _, ok := l.im.Types().Off("bug_entry", "flags"); ok && off+2 <= n {
			flags = off
		}
	}
	le, addresses := binary.LittleEndian, l.im.Class() == objfile.Bits32
	ref := func(word []byte, at uint64) uint64 {
		if addresses {
			return uint64(le.Uint32(word))
		}
		return at + uint64(int64(int32(le.Uint32(word))))
	}
	v.bugs = make(map[uint64]vmlinux.Bug)
	for off := 0; off+size <= len(table.Data); off += size {
		row := table.Data[off : off+size]
		at := table.Addr + uint64(off)
		b := vmlinux.Bug{Flags: le.Uint16(row[flags:])}
		b.Warn = b.Flags&1 != 0 // BUGFLAG_WARNING
		if size >= 12 {
			name := ref(row[4:], at+4)
			b.Line = int(le.Uint16(row[8:]))
			b.File = l.source(v, name, addresses)
			if b.File == "" && !addresses {
				b.File = l.source(v, name-4, false) // before 5.19 relative to the row
			}
		}
		v.bugs[ref(row, at)] = b
	}
}

// source returns the string at an address if it is the name of a file and begins there, which
// isn't checked if sure is set.
func (l *linker) source(v *Overlay, at uint64, sure bool) string {
	s := v.sectionAt(at)
	if s == nil {
		return ""
	}
	off := at - s.Addr
	n := bytes.IndexByte(s.Data[off:min(uint64(len(s.Data)), off+4096)], 0)
	if n <= 0 || !sure && off > 0 && s.Data[off-1] != 0 && !l.begins(at) {
		return ""
	}
	if name := string(s.Data[off : off+uint64(n)]); path.Ext(name) != "" {
		return name
	}
	return ""
}

// begins reports whether an object's section begins at an address: what lies before it is of another one.
func (l *linker) begins(at uint64) bool {
	for i := range l.groups {
		if slices.ContainsFunc(l.groups[i].parts, func(s *section) bool { return s.at == at }) {
			return true
		}
	}
	return false
}

// sectionAt returns the section that contains an address, or nil.
func (v *Overlay) sectionAt(at uint64) *vmlinux.Section {
	for i := range v.Sections {
		if s := &v.Sections[i]; at-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

func (v *Overlay) section(name string) *vmlinux.Section {
	for i := range v.Sections {
		if v.Sections[i].Name == name {
			return &v.Sections[i]
		}
	}
	return nil
}
