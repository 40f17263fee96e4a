package overlay

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// A form describes what a relocation puts into its hole: the symbol plus the addend, minus the
// hole's address if relative. Source: System V ABI, AMD64, "Relocation Types". Kinds of i386 were
// converted to these.
type form struct {
	bytes    int
	relative bool
	slot     bool // uses the address of the symbol's slot in a table
	unsigned bool // zero extension must restore it, otherwise sign extension
}

var forms = map[elf.R_X86_64]form{
	elf.R_X86_64_64:    {bytes: 8},
	elf.R_X86_64_PC64:  {bytes: 8, relative: true},
	elf.R_X86_64_32:    {bytes: 4, unsigned: true},
	elf.R_X86_64_32S:   {bytes: 4},
	elf.R_X86_64_PC32:  {bytes: 4, relative: true},
	elf.R_X86_64_PLT32: {bytes: 4, relative: true},
	elf.R_X86_64_16:    {bytes: 2, unsigned: true},
	elf.R_X86_64_PC16:  {bytes: 2, relative: true},
	elf.R_X86_64_8:     {bytes: 1, unsigned: true},
	elf.R_X86_64_PC8:   {bytes: 1, relative: true},

	elf.R_X86_64_GOTPCREL:      {bytes: 4, relative: true, slot: true},
	elf.R_X86_64_GOTPCRELX:     {bytes: 4, relative: true, slot: true},
	elf.R_X86_64_REX_GOTPCRELX: {bytes: 4, relative: true, slot: true},
}

// A slot is an entry of the overlay's global offset table.
type slot struct {
	o      *object
	symbol uint32
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
				k := slot{o, r.symbol}
				if _, ok := l.slotAt[k]; ok || !forms[r.kind].slot {
					continue
				}
				l.slotAt[k] = l.got.Addr + l.got.Size
				l.got.Size += word
				l.got.Data = o.Append(l.got.Data, o.symbols[r.symbol].at)
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
				return fmt.Errorf("%s: section %s%w", o.name, s.name, err)
			}
		}
	}
	return nil
}

func (l *linker) relocateSection(o *object, s *section) error {
	s.bytes = make([]byte, s.size)
	copy(s.bytes, s.data)
	for _, r := range s.rela {
		to := &o.symbols[r.symbol]
		if name := o.strayed(to, r); name != "" {
			return fmt.Errorf("+%#x: refers to %s as a part of its section, so it can't be led to the "+
				"vmlinux's: compile it without -fsection-anchors", r.off, name)
		}
		value := to.at
		if forms[r.kind].slot {
			value = l.slotAt[slot{o, r.symbol}]
		}
		if err := o.put(r, s.bytes, s.at, value); err != nil {
			return fmt.Errorf("+%#x: refers to %s at %#x: %w", r.off, o.called(to), to.at, err)
		}
	}
	return nil
}

// strayed returns the name of a variable of the vmlinux that is reached through another symbol's
// reference.
func (o *object) strayed(to *symbol, r rela) string {
	in := o.section(to)
	if in == nil || to.bind != elf.STB_LOCAL || in.exec() {
		return ""
	}
	at := to.value + uint64(r.addend)
	if forms[r.kind].relative {
		at += uint64(forms[r.kind].bytes) // relative to the end of the hole
	}
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.away && s.index == to.index && at-s.value < s.size {
			return s.name
		}
	}
	return ""
}

// put fills the hole of a relocation in bytes at an address.
func (o *object) put(r rela, b []byte, at, value uint64) error {
	f, ok := forms[r.kind]
	if !ok {
		name := r.kind.String()
		if !strings.HasPrefix(name, "R_") {
			name = fmt.Sprintf("of kind %d", uint32(r.kind))
		}
		return fmt.Errorf("relocation %s isn't one of kernel code: compile it with the kernel's make", name)
	}
	if uint64(len(b))-r.off < uint64(f.bytes) {
		return fmt.Errorf("the hole ends after the section: the file is damaged, compile it again")
	}
	v := value + uint64(r.addend)
	if f.relative {
		v -= at + r.off
	}
	v = o.Addr(v)
	bits := 8 * f.bytes
	if f.bytes < o.Word { // a full word wraps around
		fits := int64(v)<<(64-bits)>>(64-bits) == int64(v)
		if f.unsigned {
			fits = v>>bits == 0
		}
		if !fits {
			return fmt.Errorf("that is out of reach of %v from %#x: put the overlay within 2 GiB of the "+
				"kernel, in the last 2 GiB of addresses", r.kind, at+r.off)
		}
	}
	switch f.bytes {
	case 8:
		binary.LittleEndian.PutUint64(b[r.off:], v)
	case 4:
		binary.LittleEndian.PutUint32(b[r.off:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(b[r.off:], uint16(v))
	case 1:
		b[r.off] = byte(v)
	}
	return nil
}
