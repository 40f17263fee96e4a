package overlay

import (
	"debug/elf"
	"fmt"
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
		if name := o.strayed(to, r); name != "" {
			return fmt.Errorf("+%#x: refers to %s as a part of its section, so it can't be led to the "+
				"vmlinux's: compile it without -fsection-anchors", r.Off, name)
		}
		at := [objfile.Quantities]uint64{objfile.SymbolAt: to.at, objfile.SlotAt: l.slotAt[slot{o, r.Symbol}],
			objfile.TableAt: l.got.Addr, objfile.HoleAt: s.at + uint64(r.Off), objfile.SizeOf: to.Size}
		if err := o.put(r, s.bytes, &at); err != nil {
			return fmt.Errorf("+%#x: refers to %s at %#x: %w", r.Off, o.called(to), to.at, err)
		}
	}
	return nil
}

// strayed returns the name of a variable of the vmlinux that is reached through another symbol's
// reference.
func (o *object) strayed(to *symbol, r objfile.Reloc) string {
	in := o.section(to)
	if in == nil || to.Bind() != elf.STB_LOCAL || in.exec() {
		return ""
	}
	at := to.Value + uint64(r.Addend)
	if f := o.Form(r.Kind); f.Relative() {
		at += uint64(f.Bytes) // relative to the end of the hole
	}
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.away && s.Section == to.Section && at-s.Value < s.Size {
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
