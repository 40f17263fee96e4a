package overlay

import (
	"debug/elf"
	"fmt"
	"strings"

	"kpsim/smp/image/objfile"
)

// A slot is an entry of the overlay's global offset table.
type slot struct {
	o      *object
	symbol int
}

// slots allocates a slot for each symbol that code refers to through one, as an additional group.
func (l *linker) slots() {
	l.slotAt = make(map[slot]uint64)
	word := uint64(l.im.Class().Word)
	l.got = group{align: word}
	l.got.Name, l.got.Addr = ".got", l.end
	for _, o := range l.objects {
		for i := range o.sections {
			if !o.sections[i].kept {
				continue
			}
			for _, r := range o.sections[i].rela {
				k := slot{o, r.Symbol}
				if _, ok := l.slotAt[k]; ok || o.Form(r.Kind).Of != objfile.SlotAt {
					continue
				}
				l.slotAt[k] = l.got.Addr + l.got.Size
				l.got.Size += word
				l.got.Data = o.Append(l.got.Data, o.symbols[r.Symbol].at)
			}
		}
	}
	l.end = alignUp(l.end+l.got.Size, pageBytes)
}

// relocate computes the bytes of the sections in memory.
func (l *linker) relocate() error {
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			if !s.kept {
				continue
			}
			if err := l.relocateSection(o, s); err != nil {
				return fmt.Errorf("%s: section %s%w", o.name, s.Name, err)
			}
		}
	}
	return nil
}

func (l *linker) relocateSection(o *object, s *section) error {
	s.bytes = make([]byte, s.Size)
	copy(s.bytes, s.data)
	for _, r := range s.rela {
		to := &o.symbols[r.Symbol]
		if name := l.strayed(o, to, r); name != "" {
			return fmt.Errorf("+%#x: refers to %s as a part of its section, so it can't be led to the "+
				"vmlinux's: compile it without -fsection-anchors", r.Off, name)
		}
		if o.NeedsStub(r.Kind, to.Other) {
			return fmt.Errorf("+%#x: one of the two uses a TOC, so that %s leads to %s by a stub, and there are none: "+
				"compile it with the kernel's make, which has -mno-pcrel", r.Off, o.RelocName(r.Kind), o.called(to))
		}
		at := l.quantities(o, s, &r)
		if f := o.Form(r.Kind); f.Field != nil && f.Field.High {
			var high *objfile.Reloc
			in := o.section(to)
			if in != nil {
				high = o.High(in.rela, to.Value+uint64(r.Addend))
			}
			if high == nil {
				return fmt.Errorf("+%#x: has the low part of an address, and no high part stands at %#x: the file "+
					"is damaged, compile it again", r.Off, to.at)
			}
			from, form := l.quantities(o, in, high), o.Form(high.Kind)
			at[objfile.SymbolAt], r.Addend = from[form.Of]-from[form.Less], high.Addend
		}
		if err := o.put(r, s.bytes, &at); err != nil {
			return fmt.Errorf("+%#x: refers to %s at %#x: %w", r.Off, o.called(to), to.at, err)
		}
	}
	return nil
}

// quantities returns what the value of a relocation in a section is computed from.
func (l *linker) quantities(o *object, s *section, r *objfile.Reloc) [objfile.Quantities]uint64 {
	to, table := &o.symbols[r.Symbol], l.got.Addr
	if o.TOC {
		table = l.toc
	}
	return [...]uint64{objfile.SymbolAt: to.at, objfile.EntryAt: to.entry(),
		objfile.SlotAt: l.slotAt[slot{o, r.Symbol}], objfile.TableAt: table,
		objfile.HoleAt: s.at + uint64(r.Off), objfile.SizeOf: to.Size}
}

// anchor is the beginning of the names of labels by which code reaches several variables (-fsection-anchors).
const anchor = ".LANCHOR"

// strayed returns the name of a variable of the vmlinux that is reached through another symbol's
// reference.
func (l *linker) strayed(o *object, to *symbol, r objfile.Reloc) string {
	in := o.section(to)
	if in == nil || to.Bind() != elf.STB_LOCAL || in.exec() {
		return ""
	}
	at := to.Value + uint64(r.Addend)
	if f := o.Form(r.Kind); f.Relative() && l.port.fromEnd {
		at += uint64(f.Bytes)
	}
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.away && s.Section == to.Section && (at-s.Value < s.Size || strings.HasPrefix(to.Name, anchor)) {
			return s.Name
		}
	}
	return ""
}

// put fills the hole of a relocation in bytes.
func (o *object) put(r objfile.Reloc, b []byte, at *[objfile.Quantities]uint64) error {
	f := o.Form(r.Kind)
	v, ok := f.Value(at, r.Addend)
	if !ok {
		return fmt.Errorf("that is out of reach of %s from %#x: put the overlay within 2 GiB of the kernel, in the "+
			"last 2 GiB of addresses", o.RelocName(r.Kind), at[objfile.HoleAt])
	}
	f.Put(o.Order, b[r.Off:], v)
	return nil
}
